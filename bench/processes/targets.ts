import {
  hubTarget,
  idsOf,
  joinByTunnel,
  joinDirectly,
  keepOnline,
  openRoom,
  sharedModel,
  startHub,
} from "./hub.ts";
import { startGateway } from "../peers/gateway.ts";
import { startHaproxy } from "../peers/haproxy.ts";
import { startNginx } from "../peers/nginx.ts";
import type { Target } from "../load/target.ts";
import { warmUp } from "../load/warm-up.ts";
import type { BenchWorld } from "./world.ts";

/** All targets that are compared. */
export type TargetName =
  | "direct"
  | "nginx"
  | "haproxy"
  | "gateway"
  | "tunnel"
  | "hundred tunnels"
  /** each in a process of its own, before a model server of its own */
  | "six participants"
  /** the hub calls the model server itself */
  | "direct path";

const starters: Record<TargetName, (world: BenchWorld) => Promise<Target | undefined>> = {
  direct: async (world) => (await world.provider()).target,
  nginx: startNginx,
  haproxy: startHaproxy,
  gateway: startGateway,
  tunnel: async (world) => {
    const { hub, room } = await hubWithRoom(world);
    const participant = await joinByTunnel(world, hub.url, room, { count: 1, prefix: "one" });
    return hubTarget("tunnel", hub, room, [sharedModel], participant);
  },
  "hundred tunnels": async (world) => {
    const hub = await startHub(world);
    const room = await openRoom(hub);
    const settings = { count: 100, prefix: "many" };
    const participant = await joinByTunnel(world, hub.url, room, settings);
    return hubTarget("hundred tunnels", hub, room, idsOf("many", 100), participant);
  },
  "six participants": async (world) => {
    const hub = await startHub(world);
    const room = await openRoom(hub);
    const prefixes = Array.from({ length: 6 }, (_, index) => `six${index}`);
    await Promise.all(
      prefixes.map((prefix) =>
        joinByTunnel(world, hub.url, room, { count: 1, prefix, provider: prefix }),
      ),
    );
    return hubTarget("six participants", hub, room, [sharedModel]);
  },
  "direct path": async (world) => {
    const [{ hub }, provider] = await Promise.all([hubWithRoom(world), world.provider()]);
    const room = await openRoom(hub);
    await joinDirectly(hub, room, "direct", provider.url);
    keepOnline(world, hub, room, "direct");
    return hubTarget("direct path", hub, room, [sharedModel]);
  },
};

/** Started when first needed. @returns undefined when it is not installed */
export function targetOf(world: BenchWorld, name: TargetName): Promise<Target | undefined> {
  return world.once(`target ${name}`, async () => {
    const target = await starters[name](world);
    if (target !== undefined && !isNative(name))
      await warmUp(world, target, name === "tunnel" ? 8 : 2);
    return target;
  });
}

/** Compiled before it started: nothing to warm up. */
function isNative(name: TargetName): boolean {
  return name === "nginx" || name === "haproxy";
}

/** The hub of all rows that need no settings of their own. */
function hubWithRoom(world: BenchWorld) {
  return world.once("the hub", async () => {
    const hub = await startHub(world);
    return { hub, room: await openRoom(hub) };
  });
}
