import { spawn, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../waiting.ts";
import { freePort } from "./nginx.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export const hasHaproxy = spawnSync("haproxy", ["-v"]).status === 0;

/** For the title of what is skipped without it. */
export const haproxySkipped = hasHaproxy ? "" : " (skipped: haproxy is not installed)";

/**
 * HAProxy in front of the hubs of a cluster. Ended with the stack.
 *
 * @param hubs - `host:port` each, for the configuration that is used unless another one is given
 * @returns its URL, once a hub responds through it
 */
export async function startHaproxy(
  hubs: readonly string[],
  stack: AsyncDisposableStack,
  configure: (port: number, hubs: readonly string[]) => string = (port, servers) =>
    haproxyConfiguration({ bind: `127.0.0.1:${port}`, hubs: servers, balance: "hash" }),
): Promise<string> {
  const { path } = stack.use(await temporaryFolder());
  const port = await freePort();
  const configPath = join(path, "haproxy.cfg");
  await writeFile(configPath, configure(port, hubs));
  const haproxy = spawn("haproxy", ["-db", "-q", "-f", configPath], { stdio: "ignore" });
  const ended = new Promise((resolve) => haproxy.once("close", resolve));
  stack.defer(async () => {
    haproxy.kill("SIGKILL");
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(`${url}/health`)
      .then(({ ok }) => ok)
      .catch(() => false);
  await until("HAProxy to respond", isUp, (ok) => ok);
  return url;
}

export interface HaproxyWish {
  /** `address:port` */
  bind: string;
  /** `host:port` each */
  hubs: readonly string[];
  /** `hash`: of the room's code */
  balance: "hash" | "leastconn" | "roundrobin";
}

/** As the guide has it, which a test of it uses itself. */
export function haproxyConfiguration({ bind, hubs, balance }: HaproxyWish): string {
  const servers = hubs.map((hub, n) => `  server hub${n + 1} ${hub}`);
  return `global
  maxconn 4000
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout tunnel 1h
  option forwardfor
  option http-server-close
  option redispatch 1
  retries 3
  retry-on conn-failure empty-response 503
frontend clients
  bind ${bind}
  http-request set-var(txn.room) path,field(3,/),upper if { path_beg /rooms/ }
  http-request set-var(txn.room) path,field(4,/),upper if { path_beg /v1/rooms/ }
  default_backend hubs
backend hubs
  balance ${balance === "hash" ? "hash var(txn.room)\n  hash-type consistent" : balance}
  option httpchk
  http-check send meth GET uri /health ver HTTP/1.1 hdr Host hub
  http-check expect status 200
  default-server check inter 1s fall 2 rise 1
${servers.join("\n")}
`;
}
