import type { ProxyHandlers } from "../../tests/faults/programs/proxy.ts";
import { tokenBytes } from "../../tests/support/providers/fast-provider.ts";
import { hubTarget, joinByTunnel, openRoom, sharedModel, startHub } from "../processes/hub.ts";
import { clean } from "../figures/cost.ts";
import { measured, type Row } from "../row.ts";

/** Everything the agent sends, heads and ends of the streams included, counted by a proxy between it and the hub. */
export const tunnelBytes: Row = {
  id: "16",
  title: "bytes on the tunnel per chunk of 226 bytes, 200 streams × 50/s",
  seconds: { full: 7, quick: 4 },
  async run(world) {
    const hub = await startHub(world);
    const room = await openRoom(hub);
    const proxy = await world.children.program<ProxyHandlers>("proxy");
    const port = await proxy.call("listen", { port: hub.port, seed: 1 });
    const settings = { count: 1, prefix: "one" };
    await joinByTunnel(world, `http://127.0.0.1:${port}`, room, settings);
    const target = hubTarget("tunnel", hub, room, [sharedModel]);
    const pieces = world.either(200, 100);
    const before = await proxy.call("seen");
    const result = await world.load({
      ...{ target, shape: { bodyBytes: 1_024, plain: { pieces, delayMs: 20 } } },
      ...{ connections: 200, rampMs: 500, warmupMs: 0, windowMs: pieces * 20, isOnce: true },
    });
    clean("the streams", result);
    const after = await proxy.call("seen");
    await Promise.all([proxy.kill(), hub.child.kill()]);
    const bytes = after.bytesToPort - before.bytesToPort;
    const value = bytes / (result.tokens * tokenBytes);
    return measured([{ what: "on the tunnel / in the response", value, goal: 1.08, unit: "×" }]);
  },
};
