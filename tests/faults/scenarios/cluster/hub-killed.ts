import { until } from "../../../support/waiting.ts";
import { Cluster } from "../../cluster/cluster.ts";
import { inMs, must } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import { clusterNeeds } from "./cluster-needs.ts";

/** Does not end by itself before the kill. */
const talk = { kind: "normal", words: 4_000, chunkDelayMs: 25 } as const;

export const clusterHubKilled: Scenario = {
  id: "C1",
  title:
    "a killed hub of a cluster costs its own requests alone: the others notice at once, and its participants go to them",
  needs: clusterNeeds,
  isQuick: true,
  async run(world) {
    const cluster = await Cluster.open(world);
    const [one, two, three] = cluster.hubs;
    await cluster.startLoad(world.isQuick ? 2 : 5);
    const atKilled = await cluster.startAll([
      { tag: "own", hub: three, model: "p3", behaviour: talk },
      { tag: "from-killed", hub: three, model: "p1", behaviour: talk },
      {
        tag: "json-at-killed",
        hub: three,
        stream: false,
        model: "p1",
        behaviour: { kind: "hang" },
      },
    ]);
    const toKilled = await cluster.startAll([
      { tag: "to-killed", hub: one, model: "p3", behaviour: talk },
      { tag: "responses-to-killed", hub: two, surface: "responses", model: "p3", behaviour: talk },
      { tag: "json-to-killed", hub: two, stream: false, model: "p3", behaviour: { kind: "hang" } },
    ]);
    const elsewhere = await cluster.startAll([
      { tag: "elsewhere", hub: one, model: "p2", behaviour: { ...talk, words: 400 } },
    ]);
    for (const tag of ["own", "from-killed", "to-killed", "responses-to-killed", "elsewhere"]) {
      await cluster.clients.call("reached", { tag, pieces: 10 });
    }
    const killedMs = sharedNowMs();
    await three.kill();
    await Promise.all(
      [one, two].map((hub) =>
        until(
          "the link to be down",
          () => hub.seen(three),
          (seen) => seen?.link !== "open",
        ),
      ),
    );
    const noticedMs = sharedNowMs() - killedMs;
    world.figure("hub killed: noticed by the others", "≤ 1 s", inMs(noticedMs), noticedMs <= 1_000);
    for (const { tag, end } of await cluster.outcomes(atKilled)) {
      must(end === "cut", `the client of ${tag} saw ${end}`);
    }
    const told = await cluster.outcomes(toKilled);
    for (const { tag, end, code } of told) {
      must(end === "error" && code === "peer_unavailable", `${tag} ended ${end} ${code}`);
    }
    const toldMs = Math.max(...told.map(({ endedMs }) => endedMs)) - killedMs;
    world.figure(
      "… error of requests to its participants, longest of 3",
      ...(["≤ 1 s", inMs(toldMs), toldMs <= 1_000] as const),
    );
    await until(
      "p3 to be served by another hub",
      async () => (await cluster.ask({ tag: `p3-${sharedNowMs()}`, hub: one, model: "p3" })).end,
      (end) => end === "complete",
      30_000,
    );
    const backMs = sharedNowMs() - killedMs;
    world.figure("… its participant served by another hub", "≤ 5 s", inMs(backMs), backMs <= 5_000);
    const [unharmed] = await cluster.outcomes(elsewhere);
    must(unharmed?.end === "complete", `a stream elsewhere ended ${unharmed?.end}`);
    await until(
      "the others to bury it",
      async () => [await one.seen(three), await two.seen(three)].filter(Boolean).length,
      (left) => left === 0,
      20_000,
    );
    for (const hub of [one, two]) {
      const { events } = hub.runs.at(-1) ?? {};
      const ended = [
        ...(events?.of("participant.offline") ?? []),
        ...(events?.of("participant.left") ?? []),
      ];
      must(ended.length === 0, `a participant was declared gone at ${hub.name}`);
    }
    await three.start();
    await three.record(cluster.code);
    cluster.eventsMayMiss();
    await cluster.agreed();
    const after = await cluster.ask({ tag: "after", hub: three, model: "p3" });
    must(after.end === "complete", `afterwards: ${after.end} ${after.code}`);
  },
};
