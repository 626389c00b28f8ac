import {
  hubTarget,
  joinByTunnel,
  manyAtOnce,
  openRoom,
  sharedModel,
  startHub,
} from "../../processes/hub.ts";
import { measured, type Row } from "../../row.ts";
import { warmUp } from "../../load/warm-up.ts";

const streams = 1_000;
const delayMs = 50;

export const thousandStreams: Row = {
  id: "8",
  title: "1,000 streams × 20/s for 60 s",
  seconds: { full: 65, quick: 8 },
  async run(world) {
    const hub = await startHub(world);
    const room = await openRoom(hub);
    await joinByTunnel(world, hub.url, room, {
      ...{ count: 1, prefix: "one", maxConcurrency: manyAtOnce },
    });
    const target = hubTarget("tunnel", hub, room, [sharedModel]);
    await warmUp(world, target);
    const pieces = world.either(60_000, 4_000) / delayMs;
    const result = await world.load({
      ...{ target, shape: { bodyBytes: 1_024, plain: { pieces, delayMs } } },
      ...{ connections: streams, rampMs: 2_000, warmupMs: 0, windowMs: pieces * delayMs },
      isOnce: true,
    });
    await hub.child.kill();
    const lost = streams * pieces - result.tokens;
    const { gapMs } = result;
    return measured(
      [
        { what: "errors", value: result.problemCount, goal: 0, unit: "" },
        { what: "lost tokens", value: lost, goal: 0, unit: "" },
      ],
      [
        `${result.tokens} tokens; between two p50 ${gapMs.p50.toFixed(1)} ms, p99 ${gapMs.p99.toFixed(1)} ms, max ${gapMs.max.toFixed(0)} ms`,
        ...result.problems,
      ],
    );
  },
};
