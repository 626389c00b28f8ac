import { Cluster } from "../../cluster/cluster.ts";
import { type Outage, recordFailures } from "../../cluster/outage.ts";
import { RoomHome } from "../../cluster/room-home.ts";
import { inMs, must, mustComplete, percentile } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import { clusterNeeds } from "./cluster-needs.ts";

/** Does not end by itself before the kill. */
const talk = { kind: "normal", words: 4_000, chunkDelayMs: 25 } as const;
/** A hub learns that its connections broke when it reads them next. */
const noticedMs = 500;
/** A participant that is back in this time is never offline. Contract §8. */
const graceMs = 30_000;

export const clusterHomeKilled: Scenario = {
  id: "C7",
  title:
    "a room whose home is killed again and again is served by the next one within seconds; what ran ends once and is not generated again, and nobody is announced to have left",
  needs: clusterNeeds,
  isQuick: true,
  limitMs: 1_200_000,
  async run(world) {
    const cluster = await Cluster.open(world);
    await using home = await RoomHome.watch(cluster);
    await cluster.startLoad(world.isQuick ? 1 : 4);
    cluster.eventsMayMiss();
    const times: Round[] = [];
    const rounds = world.isQuick ? 3 : 25;
    for (let round = 1; round <= rounds; round++) times.push(await killOnce(cluster, home, round));
    recordFailures(
      world,
      `home killed ${rounds} times under load`,
      await cluster.stopLoad(),
      times.map(({ outage }) => outage),
    );
    home.mustHaveRisen();
    const servedMs = times.flatMap((one) => one.servedMs);
    const p95 = percentile(servedMs, 0.95);
    world.figure(
      `… next response of its room, p95 of ${servedMs.length}`,
      ...(["≤ 8 s", inMs(p95), p95 <= 8_000] as const),
    );
    const agreedMs = Math.max(...times.map((one) => one.agreedMs));
    world.figure(
      "… all participants connected at the next home, and the killed hub back, longest",
      ...(["≤ 30 s", inMs(agreedMs), agreedMs <= graceMs] as const),
    );
    const gone = cluster.hubs
      .flatMap(({ runs }) => runs)
      .flatMap(({ events }) => [
        ...events.of("participant.left"),
        ...events.of("participant.offline"),
      ]);
    if (agreedMs < graceMs) {
      world.fact(
        "… participants announced to have left",
        "0",
        String(gone.length),
        gone.length === 0,
      );
    }
  },
};

interface Round {
  outage: Outage;
  /** of each hub that stays: ms from the kill to the response of a request that was sent at once */
  servedMs: number[];
  agreedMs: number;
}

async function killOnce(cluster: Cluster, home: RoomHome, round: number): Promise<Round> {
  const killed = home.now;
  const others = cluster.hubs.filter((hub) => hub !== killed);
  const running = await cluster.startAll([
    ...others.map((hub, n) => ({
      ...{ tag: `ran-${round}-${n}`, hub, model: `p${n + 1}`, behaviour: talk },
    })),
    {
      ...{ tag: `hung-${round}`, hub: others[0], model: "p3", stream: false },
      behaviour: { kind: "hang" },
    },
  ]);
  await cluster.generating(running);
  const atMs = sharedNowMs();
  await killed.kill();
  const next = await cluster.startAll(
    others.map((hub, n) => ({ tag: `next-${round}-${n}`, hub, model: "*", stream: false })),
  );
  const ran = await cluster.outcomes(running);
  for (const { tag, end, code } of ran) {
    must(end === "error" && code === "peer_unavailable", `${tag} ended ${end} ${code}`);
  }
  const served = await cluster.outcomes(next);
  mustComplete(served);
  await cluster.ended(ran, "streams");
  await killed.start();
  const startedMs = sharedNowMs();
  await killed.record(cluster.code);
  await cluster.agreed(60_000);
  const servedMs = served.map(({ endedMs }) => endedMs - atMs);
  const outage = {
    ...{ baseUrl: cluster.baseUrl(killed), fromMs: atMs },
    ...{ ownUntilMs: startedMs, othersUntilMs: atMs + noticedMs },
  };
  return { outage, servedMs, agreedMs: sharedNowMs() - atMs };
}
