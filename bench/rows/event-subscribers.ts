import type { SubscriberHandlers } from "../../tests/faults/programs/subscribers.ts";
import { hubTarget, joinByTunnel, openRoom, sharedModel, startHub } from "../processes/hub.ts";
import { clean, costUs } from "../figures/cost.ts";
import { rotated } from "../measurements/interleave.ts";
import type { LoadResult } from "../load/load.ts";
import { measured, type Row } from "../row.ts";
import { median } from "../figures/spread.ts";
import { warmUp } from "../load/warm-up.ts";

const few = [0, 1];
const many = 100;
/** One watcher adds little, which only shows in many short windows; the cost of many shows at once. */
const roundsPerMany = 4;

/** The load runs all the time; watchers connect and disconnect. */
export const eventSubscribers: Row = {
  id: "13",
  title: "0, 1, 100 event subscribers during load: CPU per JSON request",
  seconds: { full: 31, quick: 7 },
  async run(world) {
    const hub = await startHub(world);
    const room = await openRoom(hub);
    await joinByTunnel(world, hub.url, room, { count: 1, prefix: "one" });
    const target = hubTarget("tunnel", hub, room, [sharedModel]);
    await warmUp(world, target, 5);
    const watchers = await world.children.program<SubscriberHandlers>("subscribers");
    const results = new Map<number, (LoadResult | undefined)[]>();
    await using load = await world.steadyLoad({
      ...{ target, shape: { bodyBytes: 1_024 }, connections: 128, rampMs: 60, warmupMs: 500 },
    });
    for (let round = 0; round < world.either(24, 2); round++) {
      const counts = round % roundsPerMany === 0 ? [...few, many] : few;
      for (const count of rotated(counts, round)) {
        const path = `/v1/rooms/${room}/events`;
        await watchers.call("open", { port: hub.port, path, count, isStalled: false });
        const result = clean(`${count} subscribers`, await load.window(330));
        const { closed } = await watchers.call("seen");
        if (closed > 0) throw new Error(`${closed} of ${count} subscribers fell behind`);
        await watchers.call("close");
        // Until the hub has noticed that they disconnected.
        await new Promise((resolve) => setTimeout(resolve, 60));
        const seen = results.get(count) ?? [];
        seen[round] = result;
        results.set(count, seen);
      }
    }
    await Promise.all([watchers.kill(), hub.child.kill()]);
    const added = (count: number) =>
      median(
        (results.get(count) ?? []).flatMap((result, round) => {
          const without = results.get(0)?.[round];
          if (result === undefined || without === undefined) return [];
          return [costUs(result, "responses") - costUs(without, "responses")];
        }),
      );
    return measured(
      [
        { what: "added by 1", value: added(1), goal: 3, unit: "µs" },
        { what: "added by 100", value: added(many), goal: 60, unit: "µs" },
      ],
      [...results].map(([count, rounds]) => {
        const seen = rounds.filter((result) => result !== undefined);
        const cost = median(seen.map((result) => costUs(result, "responses")));
        const rate = median(seen.map(({ responses, seconds }) => responses / seconds));
        return `${count} subscribers: ${cost.toFixed(1)} µs, ${Math.round(rate)} requests/s`;
      }),
    );
  },
};
