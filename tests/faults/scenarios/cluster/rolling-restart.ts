import { until } from "../../../support/waiting.ts";
import { startBalancer } from "../../cluster/balancer.ts";
import { Cluster } from "../../cluster/cluster.ts";
import { inMs, must, mustComplete } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import { clusterNeeds } from "./cluster-needs.ts";

export const clusterRollingRestart: Scenario = {
  id: "C5",
  title:
    "a rolling restart of all hubs under load fails no request through a balancer, and none at a hub that stays",
  needs: [...clusterNeeds, "haproxy"],
  isQuick: true,
  limitMs: 400_000,
  async run(world) {
    const cluster = await Cluster.open(world, { machines: ["balancer"] });
    const balancer = await startBalancer(world, cluster);
    // A hub that is away has no stream, and what happened meanwhile is in those of the others.
    cluster.eventsMayMiss();
    const drainMs: number[] = [];
    let direct = 0;
    const perSecond = world.isQuick ? 2 : 4;
    for (const model of ["p1", "p2", "p3", "fake-model", "*"]) {
      const words = { words: 40, chunkDelayMs: 25 };
      await cluster.clients.call("startLoad", {
        ...{ baseUrl: cluster.baseUrl(balancer), model, perSecond, ...words },
      });
    }
    for (const hub of world.isQuick ? cluster.hubs.slice(0, 1) : cluster.hubs) {
      const others = cluster.hubs.filter((other) => other !== hub);
      // Longer than the drain of what is idle, at every hub, for every participant.
      const behaviour = { kind: "normal", words: 120, chunkDelayMs: 25 } as const;
      const streams = await cluster.startAll(
        cluster.hubs.flatMap((at) =>
          [...cluster.participants.keys()].map((model) => ({
            ...{ tag: `over-${hub.name}-${at.name}-${model}`, hub: at, model, behaviour },
          })),
        ),
      );
      for (const tag of streams) await cluster.clients.call("reached", { tag, pieces: 5 });
      const stoppedMs = sharedNowMs();
      const stopped = hub.stop();
      // Clients of the hubs that stay, all the while.
      for (let round = 0; hub.isRunning || round < 3; round++) {
        const wishes = others.flatMap((at) =>
          [...cluster.participants.keys()].map((model) => ({
            ...{ tag: `at-${hub.name}-${at.name}-${model}-${round}`, hub: at, model },
            ...{ stream: round % 2 === 0 },
          })),
        );
        direct += wishes.length;
        mustComplete(await cluster.outcomes(await cluster.startAll(wishes)));
      }
      mustComplete(await cluster.outcomes(streams));
      must((await stopped) === 0, `${hub.name} ended with ${await stopped}`);
      drainMs.push(sharedNowMs() - stoppedMs);
      await hub.start();
      await hub.record(cluster.code);
      await cluster.agreed();
      await until(
        "the balancer to use it",
        () => hub.health(),
        (health) => health === "ok",
      );
    }
    const balanced = await cluster.stopLoad();
    const failed = balanced.filter(({ end }) => end !== "complete");
    world.fact(
      `rolling restart: requests through the balancer that failed, of ${balanced.length}`,
      ...(["0", String(failed.length), failed.length === 0] as const),
    );
    must(failed.length === 0, `${failed[0]?.tag} ended ${failed[0]?.end} ${failed[0]?.code}`);
    world.fact(`… at the hubs that stay, of ${direct}`, "0", "0", true);
    const longestMs = Math.max(...drainMs);
    world.figure(
      "… from SIGTERM to the end, streams of 3 s included",
      ...(["≤ 10 s", inMs(longestMs), longestMs <= 10_000] as const),
    );
    for (const hub of cluster.hubs) {
      const gone = hub.runs.flatMap(({ events }) => [
        ...events.of("participant.offline"),
        ...events.of("participant.left"),
      ]);
      must(gone.length === 0, `a participant was declared gone at ${hub.name}`);
    }
    await cluster.serveEverywhere("after");
  },
};
