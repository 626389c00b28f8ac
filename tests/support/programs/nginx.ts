import { spawn, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";
import { until } from "../waiting.ts";

export const hasNginx = spawnSync("nginx", ["-v"]).status === 0;

/**
 * nginx in the foreground, with everything it writes in a folder of its own. Ended with the stack.
 *
 * @param http - what stands in its `http` block
 */
export async function startNginx(http: string, stack: AsyncDisposableStack): Promise<void> {
  const { path } = stack.use(await temporaryFolder());
  await writeFile(join(path, "nginx.conf"), configuration(path, http));
  const nginx = spawn("nginx", ["-p", path, "-c", "nginx.conf", "-e", "stderr"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise((resolve) => nginx.once("close", resolve));
  stack.defer(async () => {
    nginx.kill("SIGTERM");
    await ended;
  });
}

/**
 * nginx in front of a hub, one `proxy_pass` and what is given. Ended with the stack.
 *
 * @param location - further directives of its `location` block
 * @param upstream - directives of an `upstream` block with the hub in it; there is none otherwise
 * @returns its URL, once it responds
 */
export async function startNginxProxy(
  hubUrl: string,
  stack: AsyncDisposableStack,
  location: string = "",
  upstream?: string,
): Promise<string> {
  const port = await freePort();
  const { host } = new URL(hubUrl);
  const group = upstream === undefined ? "" : `upstream hub { server ${host}; ${upstream} }`;
  const target = upstream === undefined ? hubUrl : "http://hub";
  await startNginx(
    `${group}
server { listen 127.0.0.1:${port}; location / { proxy_pass ${target}; ${location} } }`,
    stack,
  );
  const url = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(`${url}/health`)
      .then(({ ok }) => ok)
      .catch(() => false);
  await until("nginx to respond", isUp, (ok) => ok);
  return url;
}

/** A port that was free a moment ago: nginx takes no port 0. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function configuration(path: string, http: string): string {
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const { uid, username } = userInfo();
  // The workers of root's nginx are another user otherwise, to whom this folder is closed.
  const user = uid === 0 ? `user ${username};` : "";
  return `
daemon off;
${user}
worker_processes 1;
pid ${path}/nginx.pid;
events {}
http {
access_log off;
${folders.map((name) => `${name}_temp_path ${path}/${name};`).join("\n")}
${http}
}`;
}
