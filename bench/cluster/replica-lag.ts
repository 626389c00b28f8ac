import { percentile } from "../../tests/faults/figure.ts";
import { recordEvents } from "../../tests/support/hub/event-recorder.ts";
import type { ClusterMeasurement } from "./hop.ts";

/** From the response to a change at one hub until a watcher at the other one sees it: the entry, then the event. */
export const replicaLag: ClusterMeasurement = {
  title: "how long after a change at one hub a watcher at another sees it",
  measure: async (world, { owner, entry, room }) => {
    const events = await recordEvents(`${entry.url}/v1/rooms/${room}/events`);
    const lagsMs: number[] = [];
    const changes = world.either(300, 50);
    const id = "lag";
    await owner.api.join(room, {
      ...{ id, nickname: "0", model: "none", endpoint: "http://127.0.0.1:9" },
    });
    for (let n = 1; n <= changes; n++) {
      const startMs = performance.now();
      await owner.api.updateParticipant(room, id, { nickname: String(n) });
      await events.waitFor(`change ${n}`, () =>
        events
          .of("participant.updated")
          .some(
            ({ data }) => (data["participant"] as { nickname?: string }).nickname === String(n),
          ),
      );
      lagsMs.push(performance.now() - startMs);
    }
    events.close();
    await owner.api.leave(room, id);
    const [p50, p99] = [percentile(lagsMs, 0.5), percentile(lagsMs, 0.99)];
    return {
      figures: [{ what: "p99", value: p99, goal: 50, unit: "ms" }],
      seen: [`p50 ${p50.toFixed(1)} ms of ${changes} changes, the request for it included`],
    };
  },
};
