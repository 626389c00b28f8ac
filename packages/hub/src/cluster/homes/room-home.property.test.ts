import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RoomCluster } from "./room-cluster.fixture.ts";

/** `HOME_HISTORIES=100000` repeats the full run. */
const numRuns = Number(process.env["HOME_HISTORIES"] ?? 1_000);

const deliver = { deliver: (cluster: RoomCluster, a: number) => void cluster.deliver(a) };
const calls = {
  request: (cluster: RoomCluster, a: number) => cluster.call(a, undefined),
  join: (cluster: RoomCluster, a: number) => cluster.call(a, `p${a % 7}`),
  retry: (cluster: RoomCluster, a: number) => cluster.node(a).retry(),
};
const handOvers = {
  release: (cluster: RoomCluster, a: number) => {
    const home = cluster.nodes.find(
      ({ isAlive, epochServed }) => isAlive && epochServed !== undefined,
    );
    home?.release(cluster.node(home.index + 1 + (a % 2)));
  },
  giveUp: (cluster: RoomCluster, a: number) => cluster.node(a).giveUp(),
};
const faults = {
  suspect: (cluster: RoomCluster, a: number) => cluster.node(a).suspect(),
  crash: (cluster: RoomCluster, a: number) => cluster.crash(a),
  restart: (cluster: RoomCluster, a: number) => cluster.restart(a),
  suspend: (cluster: RoomCluster, a: number) => cluster.node(a).suspend(),
  cutOff: (cluster: RoomCluster, a: number) => cluster.node(a).setDirectory(false),
  expire: (cluster: RoomCluster, a: number) => cluster.node(a).expire(),
};
const ends = {
  restartDead: (cluster: RoomCluster) => cluster.restartDead(),
  resume: (cluster: RoomCluster) => cluster.nodes.forEach((node) => node.resume()),
  reconnect: (cluster: RoomCluster) => cluster.nodes.forEach((node) => node.setDirectory(true)),
};

type Action = (cluster: RoomCluster, a: number) => void;

/** Histories of calls, hand-overs and now and then a fault, which soon ends; between them, messages arrive in any order. */
function histories(rare: Record<string, Action>) {
  const names = (actions: object) => fc.constantFrom(...Object.keys(actions));
  const name = fc.oneof(
    { weight: 12, arbitrary: fc.constant("deliver") },
    { weight: 4, arbitrary: names(calls) },
    { weight: 2, arbitrary: names(handOvers) },
    { weight: Object.keys(rare).length > 0 ? 2 : 0, arbitrary: names({ ...rare, ...deliver }) },
    { weight: Object.keys(rare).length > 0 ? 2 : 0, arbitrary: names(ends) },
  );
  // Mostly in the order in which they were sent, so that histories get far.
  const choice = fc.oneof({ weight: 2, arbitrary: fc.nat(2) }, fc.nat(30));
  const all: Record<string, Action> = { ...deliver, ...calls, ...handOvers, ...rare, ...ends };
  return {
    all,
    arbitrary: fc.array(fc.tuple(name, choice), { minLength: 50, maxLength: 600, size: "max" }),
  };
}

function play(all: Record<string, Action>, history: readonly (readonly [string, number])[]) {
  const cluster = new RoomCluster();
  for (const [name, a] of history) {
    all[name]?.(cluster, a);
    cluster.check();
  }
  return cluster;
}

function expectOneHome(cluster: RoomCluster): void {
  cluster.settle();
  for (const at of [0, 1, 2]) cluster.call(at, undefined);
  cluster.settle();
  expect(cluster.calls.filter(({ outcome }) => outcome === "open")).toEqual([]);
  const homes = cluster.nodes.filter(({ epochServed }) => epochServed !== undefined);
  expect(homes.map(({ identity }) => identity)).toEqual([
    { hubId: cluster.stored?.home.hubId, bootId: cluster.stored?.home.bootId },
  ]);
  const [home] = homes;
  expect(home?.epochServed).toBeGreaterThanOrEqual(cluster.highestServed);
  expect([...cluster.confirmed].filter((id) => !home?.participants.has(id))).toEqual([]);
}

test("a room has one home per epoch and in the end one home, which knows every confirmed participant, whatever fails in between", () => {
  const { all, arbitrary } = histories(faults);
  fc.assert(
    fc.property(arbitrary, (history) => expectOneHome(play(all, history))),
    { numRuns },
  );
});

test("where no process fails, the homes of a room follow each other, and every call is served", () => {
  const { all, arbitrary } = histories({});
  fc.assert(
    fc.property(arbitrary, (history) => {
      const cluster = new RoomCluster();
      for (const [name, a] of history) {
        all[name]?.(cluster, a);
        const serving = cluster.nodes.filter(({ epochServed }) => epochServed !== undefined);
        if (serving.length > 1) throw new Error("two homes");
      }
      expectOneHome(cluster);
      expect(cluster.calls.every(({ outcome }) => outcome === "served")).toBe(true);
    }),
    { numRuns },
  );
});

test("a directory that lost its entries gets them back from the home of the highest epoch", () => {
  const { all, arbitrary } = histories({ restart: faults.restart, suspect: faults.suspect });
  fc.assert(
    fc.property(arbitrary, arbitrary, (before, after) => {
      const cluster = play(all, before);
      cluster.empty();
      cluster.confirmed.clear();
      for (const node of cluster.nodes) node.setDirectory(false);
      for (const node of cluster.nodes) node.setDirectory(true);
      for (const [name, a] of after) all[name]?.(cluster, a);
      cluster.settle();
      for (const at of [0, 1, 2]) cluster.call(at, undefined);
      cluster.settle();
      expect(cluster.nodes.filter(({ epochServed }) => epochServed !== undefined)).toHaveLength(1);
    }),
    { numRuns },
  );
});
