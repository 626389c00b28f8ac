import type { ParticipantSummary } from "@roomhub/protocol";
import type { RecordedEvent } from "../../../support/hub/event-recorder.ts";
import { until } from "../../../support/waiting.ts";
import { Cluster } from "../../cluster/cluster.ts";
import { inMs, must } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import { clusterNeeds } from "./cluster-needs.ts";

const talk = { kind: "normal", words: 8_000, chunkDelayMs: 25 } as const;

export const clusterHubSilent: Scenario = {
  id: "C2",
  title:
    "a hub of a cluster that falls silent is noticed by its silence, its participants go elsewhere, and it comes back in order",
  needs: clusterNeeds,
  isQuick: false,
  async run(world) {
    const cluster = await Cluster.open(world);
    const [one, two, three] = cluster.hubs;
    await cluster.startLoad(world.isQuick ? 2 : 5);
    const toSilent = await cluster.startAll([
      { tag: "to-silent", hub: one, model: "p3", behaviour: talk },
      { tag: "json-to-silent", hub: two, stream: false, model: "p3", behaviour: { kind: "hang" } },
    ]);
    // Of a client that is as silent as the hub.
    const own = { tag: "own", hub: three, model: "p3", behaviour: { ...talk, words: 1_200 } };
    await cluster.startAll([own]);
    for (const tag of ["to-silent", "own"]) {
      await cluster.clients.call("reached", { tag, pieces: 10 });
    }
    cluster.eventsMayMiss();
    cluster.connectionsMayBreak();
    cluster.network.isolate("hub3");
    const cutMs = sharedNowMs();
    for (const { tag, end, code } of await cluster.outcomes(toSilent)) {
      must(end === "error" && code === "peer_unavailable", `${tag} ended ${end} ${code}`);
    }
    const toldMs = sharedNowMs() - cutMs;
    world.figure("silent hub: error of requests to it", "≤ 10 s", inMs(toldMs), toldMs <= 10_000);
    await Promise.all(
      [one, two].map((hub) =>
        until(
          "the silent hub to be buried",
          () => hub.seen(three),
          (seen) => seen === undefined,
          30_000,
        ),
      ),
    );
    const buriedMs = sharedNowMs() - cutMs;
    // Silence begins with its last beat, and is looked for four times a second.
    world.figure("… declared dead", "≤ 10.5 s", inMs(buriedMs), buriedMs <= 10_500);
    await until(
      "p3 to be announced as disconnected",
      () => one.runs[0]?.events.of("participant.updated").some(isOrphan) ?? false,
      Boolean,
    );
    must((await three.health()) === "degraded", `it says ${await three.health()} of itself`);
    if (!world.isQuick) {
      await until(
        "p3 to be served by another hub",
        async () => (await cluster.ask({ tag: `p3-${sharedNowMs()}`, hub: one, model: "p3" })).end,
        (end) => end === "complete",
        60_000,
      );
      const backMs = sharedNowMs() - cutMs;
      world.figure(
        "… its participant, whose tunnel fell silent, at another hub",
        ...(["≤ 40 s", inMs(backMs), backMs <= 40_000] as const),
      );
    }
    cluster.network.heal();
    const healedMs = sharedNowMs();
    await until(
      "it to be in order",
      () => three.health(),
      (health) => health === "ok",
    );
    await cluster.agreed();
    const backMs = sharedNowMs() - healedMs;
    world.figure("… all hubs agree after it is back", "≤ 10 s", inMs(backMs), backMs <= 10_000);
    await cluster.serveEverywhere("after");
    const [outlasted] = await cluster.outcomes(["own"]);
    if (world.isQuick) must(outlasted?.end === "complete", `its own stream: ${outlasted?.end}`);
    for (const hub of [one, two]) {
      const gone = hub.runs.flatMap(({ events }) => [
        ...events.of("participant.offline"),
        ...events.of("participant.left"),
      ]);
      must(gone.length === 0, `a participant was declared gone at ${hub.name}`);
    }
  },
};

/** What a survivor announces of a participant whose hub is dead. */
function isOrphan({ data }: RecordedEvent): boolean {
  const { id, connection } = data["participant"] as ParticipantSummary;
  return id === "p3" && !connection.connected;
}
