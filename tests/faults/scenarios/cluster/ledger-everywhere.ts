import { Cluster, type ClusterWish } from "../../cluster/cluster.ts";
import { must } from "../../figure.ts";
import { Observers } from "../../observers.ts";
import type { Scenario } from "../../scenario.ts";
import { clusterNeeds } from "./cluster-needs.ts";

export const clusterLedger: Scenario = {
  id: "C4",
  title: "every request is in the event streams of all three hubs, the same in each, with one end",
  needs: clusterNeeds,
  isQuick: true,
  limitMs: 600_000,
  async run(world) {
    const cluster = await Cluster.open(world);
    // In the short tier at the one hub whose clients and participants are both elsewhere.
    const observed = cluster.hubs.slice(world.isQuick ? 2 : 0);
    const observers = await Promise.all(
      observed.map(({ name, url }) =>
        Observers.start(world.children, {
          ...{ hubUrl: url, code: cluster.code },
          path: (file) => world.path(`${name}-${file}`),
        }),
      ),
    );
    const wishes = Array.from({ length: world.isQuick ? 360 : 10_000 }, (_, n) =>
      wishOf(cluster, n),
    );
    const outcomes = await cluster.clients.call("inTurn", {
      ...{ wishes: wishes.map((wish) => cluster.callWish(wish)), atOnce: 60, pauseMs: 0 },
    });
    cluster.addOutcomes(outcomes);
    await cluster.quiet();
    const ends = Object.groupBy(outcomes, ({ end }) => end);
    for (const end of ["complete", "error", "left"] as const) {
      must((ends[end]?.length ?? 0) > 0, `no client's request ended ${end}`);
    }
    for (const [index, observer] of observers.entries()) {
      const run = observed[index]?.runs.at(-1);
      const problems = run === undefined ? [] : await observer.problems(run.events);
      must(problems.length === 0, `at ${observed[index]?.name}: ${problems.join("; ")}`);
    }
    const counts = cluster.hubs.map(({ runs }) => runs[0]?.events.of("llm.complete").length ?? 0);
    world.fact(
      `${outcomes.length} requests at three hubs: llm.complete in each stream`,
      ...(["equal", counts.join(", "), new Set(counts).size === 1] as const),
    );
  },
};

/** Each kind of request at each hub for each participant. */
function wishOf({ hubs }: Cluster, n: number): ClusterWish {
  const hub = hubs[n % 3] ?? hubs[0];
  const model = `p${1 + (Math.floor(n / 3) % 3)}`;
  const surface = n % 2 === 0 ? "chat/completions" : "responses";
  const normal = { kind: "normal", words: 20, chunkDelayMs: 5 } as const;
  const wish: ClusterWish = { tag: `r${n}`, hub, model, surface, behaviour: normal };
  switch (Math.floor(n / 9) % 8) {
    case 0:
      return { ...wish, stream: false };
    case 1:
      return { ...wish, leaveAfterPieces: 1 + (n % 15) };
    case 2:
      return { ...wish, stream: false, leaveAfterMs: n % 20 };
    case 3:
      return { ...wish, behaviour: { kind: "status", status: 500 } };
    case 4:
      return { ...wish, model: "unknown" };
    case 5:
      return { ...wish, behaviour: { kind: "cut", afterChunks: 3 } };
    case 6:
      return { ...wish, model: "*" };
    default:
      return wish;
  }
}
