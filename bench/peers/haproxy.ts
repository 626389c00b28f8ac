import { writeFile } from "node:fs/promises";
import type { Target } from "../load/target.ts";
import type { BenchWorld } from "../processes/world.ts";
import { commandPath, freePort, portOpened } from "./peer.ts";

/** @returns undefined when it is not installed */
export async function startHaproxy(world: BenchWorld): Promise<Target | undefined> {
  const command = commandPath("haproxy");
  if (command === undefined) return undefined;
  const [port, provider] = await Promise.all([freePort(), world.provider()]);
  const configPath = world.path("haproxy.cfg");
  await writeFile(configPath, haproxyConfig(port, provider.port));
  const child = world.children.command(
    [command, "-db", "-f", configPath],
    world.path("haproxy.log"),
  );
  await portOpened(port, "haproxy");
  return { ...provider.target, name: "haproxy", port, pid: child.pid };
}

/** One thread, kept connections on both sides, no log. */
function haproxyConfig(port: number, providerPort: number): string {
  return `global
  nbthread 1
  maxconn 9000
defaults
  mode http
  timeout connect 5s
  timeout client 300s
  timeout server 300s
  option http-keep-alive
  option http-no-delay
  http-reuse always
frontend clients
  bind 127.0.0.1:${port}
  default_backend provider
backend provider
  server provider 127.0.0.1:${providerPort}
`;
}
