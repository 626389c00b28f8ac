import { Cluster } from "../../cluster/cluster.ts";
import { type ClusterHub, hubPort } from "../../cluster/cluster-hub.ts";
import { RoomHome } from "../../cluster/room-home.ts";
import { inMs, must, mustComplete } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import { clusterNeeds } from "./cluster-needs.ts";

/** At each participant. */
const slots = 2;
/** At each hub, for each participant: two thirds of them wait. */
const callsEach = 2;
/** Longer than a hand-over, and than a tunnel takes to resume. */
const talk = { kind: "normal", words: 120, chunkDelayMs: 25 } as const;
/** A room moves to the hub at which most of so many requests enter. Contract §8. */
const requestsToMove = 110;

/** Why the home gives the room away: it stops, or the room's requests enter at another hub. */
type Cause = "stop" | "move";
/** When the agents' connections are reset: before the hand-over begins, with it, or when the room has its next home. */
type Reset = "before" | "with" | "after";

export const clusterHandedOver: Scenario = {
  id: "C8",
  title:
    "a home that is handed over while requests wait and tunnels resume fails no request; each has one end, and no participant serves more than its slots",
  needs: clusterNeeds,
  isQuick: true,
  limitMs: 600_000,
  async run(world) {
    const cluster = await Cluster.open(world, {
      env: { ROOMHUB_ASSUMED_CONCURRENCY: String(slots) },
    });
    await using home = await RoomHome.watch(cluster);
    // A hub that ends has no stream for a while.
    cluster.eventsMayMiss();
    const all: [Cause, Reset][] = [
      ["move", "with"],
      ["stop", "with"],
      ["stop", "before"],
      ["stop", "after"],
      ["stop", "with"],
      ["stop", "before"],
      ["stop", "after"],
    ];
    const chosen = world.isQuick ? all.slice(0, 2) : all;
    const rounds: Round[] = [];
    for (const [index, [cause, reset]] of chosen.entries())
      rounds.push(await handOver(cluster, home, `${cause}-${index}`, cause, reset));
    const calls = rounds.reduce((sum, round) => sum + round.calls, 0);
    world.fact(
      `home handed over ${rounds.length} times: requests that failed, of ${calls}`,
      ...(["0", "0", true] as const),
    );
    home.mustHaveRisen();
    must(cluster.mostAtOnce <= slots, `a provider had ${cluster.mostAtOnce} calls at once`);
    const tookMs = Math.max(...rounds.map((round) => round.tookMs));
    world.figure(
      "… until the next home has the room, longest",
      ...(["≤ 2 s", inMs(tookMs), tookMs <= 2_000] as const),
    );
    const announced = cluster.hubs
      .flatMap(({ runs }) => runs)
      .flatMap(({ events }) => [
        ...events.of("participant.left"),
        ...events.of("participant.offline"),
      ]);
    must(announced.length === 0, `${announced.length} participants were announced to have left`);
    await cluster.serveEverywhere("after");
  },
};

interface Round {
  calls: number;
  /** ms until the directory named the next home */
  tookMs: number;
}

async function handOver(
  cluster: Cluster,
  home: RoomHome,
  name: string,
  cause: Cause,
  reset: Reset,
): Promise<Round> {
  const before = home.tenure;
  const from = before.hub;
  const to = cluster.hubs.find((hub) => hub !== from) ?? from;
  const models = [...cluster.participants.keys()];
  const wishes = cluster.hubs.flatMap((hub) =>
    models.flatMap((model) =>
      Array.from({ length: callsEach }, (_, n) => ({
        ...{ tag: `${name}-${hub.name}-${model}-${n}`, hub, model, behaviour: talk },
        stream: n % 2 === 0,
      })),
    ),
  );
  const tags = await cluster.startAll(wishes);
  await cluster.generating(tags, slots * models.length);
  if (reset === "before") resetTunnels(cluster);
  const startedMs = sharedNowMs();
  const stopped = cause === "stop" ? from.stop() : undefined;
  if (cause === "move") tags.push(...(await moveTo(cluster, to, name)));
  if (reset === "with") resetTunnels(cluster);
  const { hub: next, sinceMs } = await home.after(before);
  if (reset === "after") resetTunnels(cluster);
  must(next !== from, `${from.name} kept the room`);
  const more = await cluster.startAll(
    cluster.runningHubs.flatMap((hub) =>
      hub === from
        ? []
        : models.map((model) => ({ tag: `${name}-${hub.name}-${model}`, hub, model })),
    ),
  );
  const outcomes = await cluster.outcomes([...tags, ...more]);
  mustComplete(outcomes);
  if (stopped !== undefined) {
    must((await stopped) === 0, `${from.name} ended with ${await stopped}`);
    await from.start();
    await from.record(cluster.code);
  }
  await cluster.ended(outcomes, "logs");
  await cluster.agreed(60_000);
  return { calls: outcomes.length, tookMs: sinceMs - startedMs };
}

/** Their streams wait for the next connection. */
function resetTunnels({ network, participants }: Cluster): void {
  for (const id of participants.keys()) network.reset(id, hubPort);
}

/** Short requests that enter at another hub. */
function moveTo(cluster: Cluster, hub: ClusterHub, name: string): Promise<string[]> {
  return cluster.startAll(
    Array.from({ length: requestsToMove }, (_, n) => ({
      ...{ tag: `${name}-to-${n}`, hub, model: "*", stream: false },
      behaviour: { kind: "normal", words: 2 } as const,
    })),
  );
}
