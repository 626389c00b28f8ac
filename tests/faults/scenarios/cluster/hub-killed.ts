import { Cluster } from "../../cluster/cluster.ts";
import { inMs, must, mustComplete } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import { clusterNeeds } from "./cluster-needs.ts";

/** Does not end by itself before the kill. */
const talk = { kind: "normal", words: 4_000, chunkDelayMs: 25 } as const;

export const clusterHubKilled: Scenario = {
  id: "C1",
  title:
    "a killed hub that piped costs the connections of its clients alone; a killed home costs what ran in its room, and the room is served by another hub",
  needs: clusterNeeds,
  isQuick: true,
  async run(world) {
    const cluster = await Cluster.open(world);
    const [home, two, three] = cluster.hubs;
    await cluster.startLoad(world.isQuick ? 2 : 5);
    cluster.eventsMayMiss();
    const atPiping = await cluster.startAll([
      { tag: "at-killed", hub: three, model: "p1", behaviour: talk },
    ]);
    const byItsTunnel = await cluster.startAll([
      { tag: "by-its-tunnel", hub: home, model: "p3", behaviour: { ...talk, words: 400 } },
      { tag: "piped-elsewhere", hub: two, model: "p3", behaviour: { ...talk, words: 400 } },
    ]);
    for (const tag of ["at-killed", "by-its-tunnel", "piped-elsewhere"]) {
      await cluster.clients.call("reached", { tag, pieces: 10 });
    }
    await three.kill();
    for (const { tag, end } of await cluster.outcomes(atPiping)) {
      must(end === "cut", `the client of ${tag} saw ${end}`);
    }
    mustComplete(await cluster.outcomes(byItsTunnel));
    await three.start();
    await three.record(cluster.code);
    await cluster.agreed();

    const atHome = await cluster.startAll([
      { tag: "at-home", hub: home, model: "p3", behaviour: talk },
    ]);
    const toHome = await cluster.startAll([
      { tag: "to-home", hub: two, model: "p3", behaviour: talk },
      { tag: "responses-to-home", hub: two, surface: "responses", model: "p2", behaviour: talk },
      { tag: "json-to-home", hub: three, stream: false, model: "p1", behaviour: { kind: "hang" } },
    ]);
    for (const tag of ["at-home", "to-home", "responses-to-home"]) {
      await cluster.clients.call("reached", { tag, pieces: 10 });
    }
    const killedMs = sharedNowMs();
    await home.kill();
    for (const { tag, end } of await cluster.outcomes(atHome)) {
      must(end === "cut", `the client of ${tag} saw ${end}`);
    }
    const told = await cluster.outcomes(toHome);
    for (const { tag, end, code } of told) {
      must(end === "error" && code === "peer_unavailable", `${tag} ended ${end} ${code}`);
    }
    const toldMs = Math.max(...told.map(({ endedMs }) => endedMs)) - killedMs;
    world.figure(
      "home killed: error of what ran there, longest of 3",
      ...(["≤ 1 s", inMs(toldMs), toldMs <= 1_000] as const),
    );
    for (const model of ["p1", "p2", "p3"]) {
      const tag = `${model}-again`;
      const { end, code } = await cluster.ask({ tag, hub: two, model });
      must(end === "complete", `${tag} ended ${end} ${code}`);
    }
    const backMs = sharedNowMs() - killedMs;
    world.figure("… its participants served again", "≤ 15 s", inMs(backMs), backMs <= 15_000);
    await home.start();
    await home.record(cluster.code);
    await cluster.agreed();
    const after = await cluster.ask({ tag: "after", hub: home, model: "p3" });
    must(after.end === "complete", `afterwards: ${after.end} ${after.code}`);
  },
};
