import { within } from "../../../tests/support/waiting.ts";
import {
  hubTarget,
  joinByTunnel,
  manyAtOnce,
  openRoom,
  sharedModel,
  startHub,
} from "../../processes/hub.ts";
import { settledRssBytes } from "../../figures/memory.ts";
import { measured, type Row } from "../../row.ts";
import { warmUp } from "../../load/warm-up.ts";

/** Each has had its first token and gets one more every two seconds. */
const shape = { bodyBytes: 1_024, plain: { pieces: 1_000, delayMs: 2_000 } };

export const memoryPerStream: Row = {
  id: "9",
  title: "hub memory per open stream, 10,000 streams",
  seconds: { full: 22, quick: 8 },
  async run(world) {
    const count = world.either(10_000, 2_000);
    const hub = await startHub(world);
    const room = await openRoom(hub);
    await joinByTunnel(world, hub.url, room, {
      ...{ count: 1, prefix: "one", maxConcurrency: manyAtOnce },
    });
    const target = hubTarget("tunnel", hub, room, [sharedModel]);
    // The first requests cost compiled code and a heap that grows, which is not memory per stream.
    await warmUp(world, target);
    const before = await settledRssBytes(hub.child);
    const load = await world.loadProgram();
    await within(load.call("hold", { target, shape, count }), `${count} streams to open`, 60_000);
    const after = await settledRssBytes(hub.child);
    const problems = await load.call("release");
    await hub.child.kill();
    if (problems.length > 0) throw new Error(`${problems.length} streams broke: ${problems[0]}`);
    const value = (after - before) / count / 1_000;
    const mb = [before, after].map((bytes) => (bytes / 1e6).toFixed(0)).join(" → ");
    return measured(
      [{ what: "per stream", value, goal: 15, unit: "KB" }],
      [`${count} streams: ${mb} MB`],
    );
  },
};
