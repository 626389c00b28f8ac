import { spawn, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";

export const hasCaddy = spawnSync("caddy", ["version"]).status === 0;

/**
 * Caddy in the foreground, with everything it writes in a folder of its own. Ended with the stack.
 *
 * @param sites - what stands in its Caddyfile
 * @returns the file where it puts the certificate that signs those of `tls internal`
 */
export async function startCaddy(sites: string, stack: AsyncDisposableStack): Promise<string> {
  const { path } = stack.use(await temporaryFolder());
  const file = join(path, "Caddyfile");
  await writeFile(file, configuration(path, sites));
  const caddy = spawn("caddy", ["run", "--config", file, "--adapter", "caddyfile"], {
    stdio: "ignore",
    // It keeps a copy of its configuration there.
    env: { ...process.env, HOME: path, XDG_CONFIG_HOME: path, XDG_DATA_HOME: path },
  });
  const ended = new Promise((resolve) => caddy.once("close", resolve));
  stack.defer(async () => {
    caddy.kill("SIGKILL");
    await ended;
  });
  return join(path, "pki/authorities/local/root.crt");
}

/** No port but that of the sites, and nothing into this machine's list of authorities. */
function configuration(path: string, sites: string): string {
  return `{
	admin off
	auto_https disable_redirects
	skip_install_trust
	storage file_system ${path}
}
${sites}`;
}
