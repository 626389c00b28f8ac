import type { SubscriberHandlers } from "../../tests/faults/programs/subscribers.ts";
import { hubTarget, joinByTunnel, openRoom, sharedModel, startHub } from "../hub.ts";
import { clean, costUs } from "../cost.ts";
import { rotated } from "../interleave.ts";
import type { LoadResult } from "../load.ts";
import { measured, type Row } from "../row.ts";
import { median } from "../spread.ts";
import { warmUp } from "../warm-up.ts";

const counts = [0, 1, 100];

export const eventSubscribers: Row = {
  id: "13",
  title: "0, 1, 100 event subscribers during load: CPU per JSON request",
  seconds: { full: 27, quick: 6 },
  async run(world) {
    const hub = await startHub(world);
    const room = await openRoom(hub);
    await joinByTunnel(world, hub.url, room, { count: 1, prefix: "one-" });
    const target = hubTarget("tunnel", hub, room, [sharedModel]);
    await warmUp(world, target, 5);
    const watchers = await world.children.program<SubscriberHandlers>("subscribers");
    const results = new Map<number, LoadResult[]>(counts.map((count) => [count, []]));
    for (let round = 0; round < world.either(9, 1); round++) {
      for (const count of rotated(counts, round)) {
        const path = `/v1/rooms/${room}/events`;
        await watchers.call("open", { port: hub.port, path, count, isStalled: false });
        const result = await world.load({
          ...{ target, ask: { bodyBytes: 1_024 }, connections: 128 },
          ...{ rampMs: 60, warmupMs: 140, windowMs: 550 },
        });
        const { closed } = await watchers.call("seen");
        if (closed > 0) throw new Error(`${closed} of ${count} subscribers fell behind`);
        await watchers.call("close");
        results.get(count)?.push(clean(`${count} subscribers`, result));
      }
    }
    await Promise.all([watchers.kill(), hub.child.kill()]);
    const added = (count: number) =>
      median(
        (results.get(count) ?? []).map((result, round) => {
          const without = results.get(0)?.[round];
          return costUs(result, "answers") - (without ? costUs(without, "answers") : Number.NaN);
        }),
      );
    return measured(
      [
        { what: "added by 1", value: added(1), goal: 3, unit: "µs" },
        { what: "added by 100", value: added(100), goal: 60, unit: "µs" },
      ],
      [...results].map(([count, seen]) => {
        const cost = median(seen.map((result) => costUs(result, "answers")));
        const rate = median(seen.map(({ answers, seconds }) => answers / seconds));
        return `${count} subscribers: ${cost.toFixed(1)} µs, ${Math.round(rate)} requests/s`;
      }),
    );
  },
};
