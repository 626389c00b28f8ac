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
    "a home that falls silent is replaced, what ran there ends, its participants go to the next home, and it comes back in order",
  needs: clusterNeeds,
  isQuick: false,
  async run(world) {
    const cluster = await Cluster.open(world);
    const [home, two, three] = cluster.hubs;
    await cluster.startLoad(world.isQuick ? 2 : 5);
    const toSilent = await cluster.startAll([
      { tag: "to-silent", hub: two, model: "p3", behaviour: talk },
      {
        tag: "json-to-silent",
        hub: three,
        stream: false,
        model: "p2",
        behaviour: { kind: "hang" },
      },
    ]);
    await cluster.clients.call("reached", { tag: "to-silent", pieces: 10 });
    cluster.eventsMayMiss();
    cluster.connectionsMayBreak();
    cluster.network.isolate("hub1");
    const cutMs = sharedNowMs();
    for (const { tag, end, code } of await cluster.outcomes(toSilent)) {
      must(end === "error" && code === "peer_unavailable", `${tag} ended ${end} ${code}`);
    }
    const toldMs = sharedNowMs() - cutMs;
    world.figure("silent home: error of requests to it", "≤ 20 s", inMs(toldMs), toldMs <= 20_000);
    await until(
      "p2 to be served by another hub",
      async () => (await cluster.ask({ tag: `p2-${sharedNowMs()}`, hub: two, model: "p2" })).end,
      (end) => end === "complete",
      60_000,
    );
    const servedMs = sharedNowMs() - cutMs;
    world.figure(
      "… next response of its room",
      ...(["≤ 20 s", inMs(servedMs), servedMs <= 20_000] as const),
    );
    must((await home.health()) === "degraded", `it says ${await home.health()} of itself`);
    cluster.network.heal();
    const healedMs = sharedNowMs();
    await until(
      "it to be in order",
      () => home.health(),
      (health) => health === "ok",
    );
    await cluster.agreed();
    const backMs = sharedNowMs() - healedMs;
    world.figure("… all hubs agree after it is back", "≤ 10 s", inMs(backMs), backMs <= 10_000);
    await cluster.serveEverywhere("after");
  },
};
