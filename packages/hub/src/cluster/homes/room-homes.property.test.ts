import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  propertyRuns,
  propertyTimeoutMs,
  SEEDS,
} from "../../../../../tests/support/property-runs.ts";
import { HomesWorld } from "./homes-world.fixture.ts";
import { type HubNode, startHub } from "./hub-node.fixture.ts";

type World = HomesWorld<HubNode>;

const codes = ["R1", "R2", "R3"];

/** The latest life of one of three hubs. */
function hubAt(world: World, choice: number): HubNode {
  const name = ["a", "b", "c"][choice % 3] ?? "a";
  const hub = world.nodes.findLast(({ self }) => self.hubId === name);
  if (hub === undefined) throw new Error("no such hub");
  return hub;
}

function codeOf(choice: number): string {
  return codes[choice % codes.length] ?? "R1";
}

const runnings = (world: World) => world.alive().filter(({ isSuspended }) => !isSuspended);

const actions = {
  request: (world: World, n: number) => {
    const hub = hubAt(world, n);
    if (hub.isAlive) world.request(hub, codeOf(n >> 2));
  },
  handOver: (world: World, n: number) => {
    const [to] = runnings(world);
    for (const hub of runnings(world).slice(1)) {
      if (to !== undefined) void hub.homes.handOver(codeOf(n), to.self);
    }
  },
  kill: (world: World, n: number) => {
    if (hubAt(world, n).isAlive) hubAt(world, n).kill();
  },
  fallSilent: (world: World, n: number) => {
    if (hubAt(world, n).isAlive) hubAt(world, n).fallSilent();
  },
  stop: (world: World, n: number) => {
    const hub = hubAt(world, n);
    if (hub.isAlive && !hub.isSuspended && !hub.isDraining) void hub.stop();
  },
  restart: (world: World, n: number) => {
    const hub = hubAt(world, n);
    if (!hub.isAlive) startHub(world, hub.self.hubId);
  },
  suspend: (world: World, n: number) => {
    const hub = hubAt(world, n);
    if (hub.isAlive && !hub.isSuspended) hub.suspend();
  },
  resume: (world: World, n: number) => {
    const hub = hubAt(world, n);
    if (hub.isSuspended) hub.resume();
  },
  cutOff: (world: World, n: number) => {
    const hub = hubAt(world, n);
    if (hub.isAlive && !hub.isSuspended) hub.directory.cutOff();
  },
  heal: (world: World, n: number) => {
    if (hubAt(world, n).isAlive) hubAt(world, n).directory.heal();
  },
  loseOutcomes: (world: World, n: number) => {
    hubAt(world, n).losesOutcomes = n % 2 === 0;
  },
  failToLoad: (world: World, n: number) => {
    hubAt(world, n).failsToLoad = n % 2 === 0;
  },
};

const rare = Object.keys(actions).slice(2) as (keyof typeof actions)[];
const step = fc.record({
  action: fc.oneof(
    { weight: 6, arbitrary: fc.constant("request" as const) },
    { weight: 1, arbitrary: fc.constant("handOver" as const) },
    { weight: 3, arbitrary: fc.constantFrom(...rare) },
  ),
  choice: fc.nat(60),
  waitMs: fc.oneof(
    { weight: 4, arbitrary: fc.nat(30) },
    { weight: 2, arbitrary: fc.nat(1_000) },
    { weight: 1, arbitrary: fc.nat(12_000) },
  ),
});

/** All faults end. */
async function settle(world: World): Promise<void> {
  for (const name of ["a", "b", "c"]) {
    const hub = world.nodes.findLast(({ self }) => self.hubId === name);
    if (hub === undefined || !hub.isAlive) startHub(world, name);
    else if (hub.isSuspended) hub.resume();
  }
  await world.run(3_000);
  for (const hub of world.alive()) {
    hub.losesOutcomes = false;
    hub.failsToLoad = false;
    hub.directory.heal();
  }
  await world.run(30_000);
}

test.each(SEEDS)(
  "a room is served by one hub in each epoch, and in the end by one hub, whatever fails in between (seed %i)",
  async (propertySeed) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 60, size: "max" }),
        fc.nat(1_000_000),
        async (steps, seed) => {
          let n = seed;
          const world: World = new HomesWorld<HubNode>(
            () => (n = (n * 16_807 + 1) % 2_147_483_647) / 2_147_483_647,
          );
          await world.begin();
          for (const name of ["a", "b", "c"]) startHub(world, name);
          await world.run(5_000);
          for (const { action, choice, waitMs } of steps) {
            actions[action](world, choice);
            await world.run(waitMs);
          }
          await settle(world);
          expect(world.calls.filter(({ endedMs }) => endedMs === undefined)).toEqual([]);
          for (const code of codes) {
            const calls = world.alive().map((hub) => world.request(hub, code));
            await world.run(5_000);
            const served = calls.map(({ served: end }) => `${end?.by.self.bootId} ${end?.epoch}`);
            expect(new Set(served).size).toBe(1);
            expect(served[0]).not.toContain("undefined");
            const stored = await world.server.readHome(code);
            expect(served[0]).toBe(`${stored?.home.bootId} ${stored?.home.epoch}`);
          }
          expect([world.violations, world.bugs]).toEqual([[], []]);
        },
      ),
      propertyRuns(propertySeed, 60),
    );
  },
  propertyTimeoutMs,
);
