import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  propertyRuns,
  propertyTimeoutMs,
  SEEDS,
} from "../../../../../tests/support/property-runs.ts";
import type { HubPresence } from "./hub-presence.ts";
import { aPresence } from "../directory-compliance.fixture.ts";
import { Hubs, SILENCE_MS, type Sight } from "./hubs.ts";

const own = { hubId: "0000000000000000", bootId: "00000000" };
const ada = "00000000000000aa";
const unlinked = () => false;

function aLife(hubId: string, life = 1): HubPresence {
  return { ...aPresence(hubId), bootId: String(life).padStart(8, "0"), startedAt: life };
}

function judge(hubs: Hubs, nowMs: number, sight: Partial<Sight> = {}): string[] {
  const dead = hubs.judge({
    ...{ nowMs, directoryUpSinceMs: 0, isLinkOpen: unlinked },
    ...sight,
  });
  return dead.map(({ hubId, bootId }) => `${hubId.slice(-2)} ${bootId.slice(-1)}`);
}

describe("a hub that was heard of", () => {
  test("is dead after more than 10 s of silence, once, and not after exactly 10 s", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada), 5_000);
    expect(judge(hubs, 15_000)).toEqual([]);
    expect(hubs.isDead(aLife(ada), 15_000)).toBe(false);
    expect(judge(hubs, 15_001)).toEqual(["aa 1"]);
    expect(judge(hubs, 99_000)).toEqual([]);
    expect([hubs.isDead(aLife(ada), 99_000), hubs.list()]).toEqual([true, []]);
  });

  test("counts in its younger life, and in one whose clock was set back once the life before has missed a beat", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada, 2), 0);
    hubs.seen(aLife(ada, 1), 4_000);
    expect(hubs.isPresent(aLife(ada, 2))).toBe(true);
    hubs.seen(aLife(ada, 1), 4_001);
    expect([hubs.isPresent(aLife(ada, 1)), hubs.isDead(aLife(ada, 2), 4_001)]).toEqual([
      true,
      true,
    ]);
  });

  test("is not dead while the link to it responds", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada), 0);
    expect(judge(hubs, 99_000, { isLinkOpen: (hubId) => hubId === ada })).toEqual([]);
    expect(judge(hubs, 99_001)).toEqual(["aa 1"]);
  });

  test("is not dead while the directory is down, nor within 10 s after its return", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada), 0);
    expect(judge(hubs, 50_000, { directoryUpSinceMs: undefined })).toEqual([]);
    expect(judge(hubs, 60_000, { directoryUpSinceMs: 50_000 })).toEqual([]);
    expect(judge(hubs, 60_001, { directoryUpSinceMs: 50_000 })).toEqual(["aa 1"]);
  });

  test("is dead after one missed beat when it has refused dials for 2 s", () => {
    const refusing = (ms: number) => {
      const hubs = new Hubs(own);
      hubs.refused(ada, 0);
      hubs.seen(aLife(ada), 5_000);
      for (const atMs of [6_000, 6_500, 6_000 + ms]) hubs.refused(ada, atMs);
      hubs.seen(aLife(ada), 5_000);
      return hubs;
    };
    expect(judge(refusing(2_000), 9_000)).toEqual([]);
    expect(judge(refusing(1_999), 9_001)).toEqual([]);
    expect(judge(refusing(2_000), 9_001, { directoryUpSinceMs: 5_001 })).toEqual([]);
    expect(judge(refusing(2_000), 9_001)).toEqual(["aa 1"]);
    const reached = refusing(2_000);
    reached.reached(ada);
    reached.refused(ada, 9_000);
    expect(judge(reached, 9_001)).toEqual([]);
  });

  test("is in doubt from a reset or a refused dial until it is reached, and its next life is not", () => {
    const hubs = new Hubs(own);
    const sight = (life = 1) => [
      hubs.isDoubted(aLife(ada, life)),
      hubs.isRefused(aLife(ada, life)),
    ];
    hubs.reset(ada);
    hubs.seen(aLife(ada), 0);
    expect(sight()).toEqual([false, false]);
    hubs.reset(ada);
    expect(sight()).toEqual([true, false]);
    hubs.reached(ada);
    expect(sight()).toEqual([false, false]);
    hubs.refused(ada, 1);
    expect(sight()).toEqual([true, true]);
    hubs.seen(aLife(ada, 2), 2);
    expect([sight(), sight(2)]).toEqual([
      [false, false],
      [false, false],
    ]);
  });

  test("has missed a beat when it is more than a second late, or another life of it is present", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada), 0);
    const at = (nowMs: number, life = 1) => hubs.hasMissedBeat(aLife(ada, life), nowMs);
    expect([at(4_000), at(4_001), at(0, 2)]).toEqual([false, true, true]);
  });

  test("is dead at once when it left in order", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada), 0);
    hubs.left(ada);
    expect([hubs.isDead(aLife(ada), 1), hubs.list(), judge(hubs, 99_000)]).toEqual([true, [], []]);
  });

  test("is present again when it is heard of after its death", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada), 0);
    expect(judge(hubs, 20_000)).toEqual(["aa 1"]);
    hubs.seen(aLife(ada), 21_000);
    expect([hubs.isDead(aLife(ada), 21_000), hubs.list()]).toEqual([false, [aLife(ada)]]);
    expect(judge(hubs, 31_001)).toEqual(["aa 1"]);
  });

  test("ends its life before when it has restarted", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada, 1), 0);
    hubs.seen(aLife(ada, 2), 1);
    expect([hubs.isDead(aLife(ada, 1), 1), hubs.isDead(aLife(ada, 2), 1)]).toEqual([true, false]);
    expect(hubs.get(ada)?.bootId).toBe("00000002");
  });

  test("gives way to no older hub with the same id", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada, 2), 0);
    hubs.seen(aLife(ada, 1), 1);
    expect(hubs.get(ada)?.bootId).toBe("00000002");
    expect(hubs.isDead(aLife(ada, 2), 1)).toBe(false);
  });
});

describe("a hub that owns an entry and was never heard of", () => {
  test("is silent from then on", () => {
    const hubs = new Hubs(own);
    expect(hubs.isDead(aLife(ada), 20_000)).toBe(false);
    expect(judge(hubs, 30_000)).toEqual([]);
    expect(judge(hubs, 30_001)).toEqual(["aa 1"]);
    expect(hubs.isDead(aLife(ada), 30_001)).toBe(true);
  });

  test("is not dead when it announces itself in time, though an older life is known", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada, 1), 20_000);
    expect(hubs.isDead(aLife(ada, 2), 20_001)).toBe(false);
    hubs.seen(aLife(ada, 2), 20_500);
    expect(judge(hubs, 30_400)).toEqual([]);
    expect([hubs.isDead(aLife(ada, 1), 1), hubs.isDead(aLife(ada, 2), 1)]).toEqual([true, false]);
  });

  test("is dead although a later life of it is present and linked", () => {
    const hubs = new Hubs(own);
    hubs.seen(aLife(ada, 9), 20_000);
    expect(hubs.isDead(aLife(ada, 1), 20_000)).toBe(false);
    const isLinkOpen = () => true;
    expect(judge(hubs, 30_001, { isLinkOpen })).toEqual(["aa 1"]);
    expect(hubs.isDead(aLife(ada, 9), 30_001)).toBe(false);
  });
});

test("this hub is never dead, and its lives before always are", () => {
  const hubs = new Hubs(own);
  hubs.seen(aLife(own.hubId, 7), 0);
  expect(hubs.list()).toEqual([]);
  expect(hubs.isDead(own, 0)).toBe(false);
  expect(hubs.isDead({ ...own, bootId: "00000007" }, 0)).toBe(true);
});

type Step =
  | { kind: "wait"; ms: number }
  | { kind: "beat" | "restart" | "die" | "leave" | "link" | "unlink"; hub: number }
  | { kind: "directory"; isUp: boolean };

const aStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 4_000 }) }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 4_000 }) }),
  fc.record({
    kind: fc.constantFrom("beat", "restart", "die", "leave", "link", "unlink"),
    hub: fc.nat(2),
  }),
  fc.record({ kind: fc.constant("directory" as const), isUp: fc.boolean() }),
);

/** One true hub of the model: what it does, and what of that this hub could know. */
interface ModelHub {
  hubId: string;
  life: number;
  isRunning: boolean;
  isLinked: boolean;
  /** when this hub last heard of it */
  heardMs: number;
}

describe.each(SEEDS)("whatever happens to three hubs (seed %i)", (seed) => {
  test(
    "only silent ones are judged dead, each life once, and each in the end",
    () => {
      fc.assert(
        fc.property(fc.array(aStep, { maxLength: 120 }), (steps) => runModel(steps)),
        propertyRuns(seed, 400),
      );
    },
    propertyTimeoutMs,
  );
});

function runModel(steps: readonly Step[]): void {
  const hubs = new Hubs(own);
  let nowMs = 0;
  let upSinceMs: number | undefined = 0;
  const model: ModelHub[] = [1, 2, 3].map((at) => ({
    hubId: `000000000000000${at}`,
    life: 1,
    isRunning: true,
    isLinked: false,
    heardMs: 0,
  }));
  const judged = new Set<string>();
  const beat = (hub: ModelHub) => {
    if (upSinceMs === undefined || !hub.isRunning) return;
    hubs.seen(aLife(hub.hubId, hub.life), nowMs);
    hub.heardMs = nowMs;
    judged.delete(`${hub.hubId} ${hub.life}`);
  };
  const look = () => {
    const isLinkOpen = (hubId: string) => model.some((hub) => hub.hubId === hubId && hub.isLinked);
    for (const dead of hubs.judge({
      nowMs,
      directoryUpSinceMs: upSinceMs,
      isLinkOpen,
    })) {
      const hub = model.find(({ hubId }) => hubId === dead.hubId)!;
      expect(nowMs - hub.heardMs).toBeGreaterThan(SILENCE_MS);
      expect(nowMs - (upSinceMs ?? nowMs)).toBeGreaterThan(SILENCE_MS);
      expect(hub.isLinked).toBe(false);
      const life = `${dead.hubId} ${Number(dead.bootId)}`;
      expect(judged).not.toContain(life);
      judged.add(life);
    }
  };
  for (const hub of model) beat(hub);
  const take = (step: Step) => {
    if (step.kind === "wait") nowMs += step.ms;
    else if (step.kind === "directory") {
      if (!step.isUp) upSinceMs = undefined;
      else upSinceMs ??= nowMs;
    } else takeHubStep(step.kind, model[step.hub]!);
  };
  const takeHubStep = (kind: string, hub: ModelHub) => {
    if (kind === "link") hub.isLinked = hub.isRunning;
    if (kind === "unlink" || kind === "die") hub.isLinked = false;
    if (kind === "die") hub.isRunning = false;
    if (kind === "leave" && hub.isRunning && upSinceMs !== undefined) {
      hubs.left(hub.hubId);
      [hub.isRunning, hub.isLinked] = [false, false];
    }
    if (kind === "restart") {
      hub.life += 1;
      [hub.isRunning, hub.isLinked] = [true, false];
    }
    if (kind === "restart" || kind === "beat") beat(hub);
  };
  for (const step of steps) {
    take(step);
    look();
  }
  // From here on all is well: those that run beat, those that do not are found dead.
  upSinceMs ??= nowMs;
  for (let at = 0; at < 6; at++) {
    for (const hub of model) beat(hub);
    nowMs += 3_000;
    look();
  }
  for (const { hubId, life, isRunning } of model) {
    expect(hubs.get(hubId) !== undefined).toBe(isRunning);
    if (isRunning) expect(hubs.isDead(aLife(hubId, life), nowMs)).toBe(false);
    // An entry of each life: those that were never heard of are silent from now on.
    for (let old = 1; old < life; old++) hubs.isDead(aLife(hubId, old), nowMs);
  }
  nowMs += SILENCE_MS + 1;
  for (const hub of model) beat(hub);
  const isLinkOpen = (hubId: string) => model.some((hub) => hub.hubId === hubId && hub.isRunning);
  hubs.judge({ nowMs, directoryUpSinceMs: upSinceMs, isLinkOpen });
  for (const { hubId, life } of model) {
    for (let old = 1; old < life; old++) expect(hubs.isDead(aLife(hubId, old), nowMs)).toBe(true);
  }
}
