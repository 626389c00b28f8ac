import { writeFile } from "node:fs/promises";
import { haproxyConfiguration } from "../../support/programs/haproxy.ts";
import { until } from "../../support/waiting.ts";
import type { Cluster } from "./cluster.ts";
import type { World } from "../world.ts";

/**
 * HAProxy with health checks before all hubs, on the machine `balancer`.
 *
 * @param configure - its configuration for an address and hubs, `address:port` each
 * @returns its URL, once a hub responds through it
 */
export async function startBalancer(
  world: World,
  cluster: Cluster,
  configure: (bind: string, hubs: readonly string[]) => string = (bind, hubs) =>
    haproxyConfiguration({ bind, hubs, balance: "leastconn" }),
): Promise<{ url: string }> {
  const { address, prefix } = cluster.network.machine("balancer");
  const configPath = world.path("haproxy.cfg");
  const bind = `${address}:8080`;
  const hubs = cluster.hubs.map(({ host }) => host);
  await writeFile(configPath, configure(bind, hubs));
  const [command = "", ...args] = prefix;
  const haproxy = ["haproxy", "-db", "-q", "-f", configPath];
  world.children.command([command, ...args, ...haproxy], world.path("haproxy.log"));
  const url = `http://${bind}`;
  const isUp = () =>
    fetch(`${url}/health`)
      .then(({ ok }) => ok)
      .catch(() => false);
  await until("HAProxy to respond", isUp, Boolean, 30_000);
  return { url };
}
