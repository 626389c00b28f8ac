import { describe, expect, test } from "vitest";
import type { Call } from "./homes-world.fixture.ts";
import { type HubNode, startHub } from "./hub-node.fixture.ts";
import { aHome, aWorld, outcome } from "./three-hubs.fixture.ts";

function bootIds(hubs: readonly HubNode[]): string[] {
  return hubs.map(({ self }) => self.bootId);
}

test("what any hub could do for a room at rest is done by one, while it can reach the directory", async () => {
  const { world, a, b, c } = await aWorld();
  const codes = Array.from({ length: 30 }, (_each, n) => `R${n}`);
  const ours = (hubs: readonly HubNode[]) =>
    codes.map((code) => hubs.filter(({ homes }) => homes.isOurs(code)).length);
  expect(ours([a, b, c])).toEqual(codes.map(() => 1));
  expect(codes.some((code) => c.homes.isOurs(code))).toBe(true);
  c.fallSilent();
  await world.run(15_000);
  expect(ours([a, b])).toEqual(codes.map(() => 1));
  a.directory.cutOff();
  expect(codes.some((code) => a.homes.isOurs(code))).toBe(false);
});

describe("a room without a home", () => {
  test("has its home at the hub that gets its first request, and other hubs send theirs there", async () => {
    const { world, a, b } = await aHome();
    const call = world.request(b, "R1");
    await world.run(100);
    expect(outcome(call)).toBe("a1 in 1");
    expect([a.taken, b.taken]).toEqual([["R1 1"], []]);
  });

  test("has one home when all hubs get a request at once", async () => {
    const { world, a, b, c } = await aWorld();
    const calls = [a, b, c].map((hub) => world.request(hub, "R1"));
    await world.run(200);
    expect(new Set(calls.map((call) => outcome(call))).size).toBe(1);
    expect([...a.taken, ...b.taken, ...c.taken]).toEqual(["R1 1"]);
  });

  test("is refused at once while the directory is away", async () => {
    const { world, a } = await aWorld();
    a.directory.cutOff();
    const call = world.request(a, "R1");
    await world.run(1);
    expect(outcome(call)).toBe("cluster_unavailable");
  });

  test("is refused when the directory goes away while it is taken", async () => {
    const { world, a } = await aWorld();
    const call = world.request(a, "R1");
    await world.run(1);
    a.directory.cutOff();
    await world.run(1);
    expect(outcome(call)).toBe("cluster_unavailable");
  });

  test("has its home here when the outcome of the write was lost", async () => {
    const { world, a } = await aWorld();
    a.losesOutcomes = true;
    const call = world.request(a, "R1");
    await world.run(1_000);
    expect(outcome(call)).toBe("a1 in 1");
  });

  test("is served once its registrations are read, however often that fails", async () => {
    const { world, a } = await aWorld();
    a.failsToLoad = true;
    const call = world.request(a, "R1");
    await world.run(2_000);
    expect(call.endedMs).toBe(undefined);
    a.failsToLoad = false;
    await world.run(500);
    expect(outcome(call)).toBe("a1 in 1");
  });
});

/** ms from the end of the home to the next response, when it ends at any time between two beats. */
async function gapsMs(end: (hub: HubNode) => void): Promise<number[]> {
  const gaps: number[] = [];
  for (let phaseMs = 0; phaseMs < 3_000; phaseMs += 150) {
    let n = phaseMs;
    const { world, a, b } = await aHome(() => (n = (n * 16_807 + 1) % 1_009) / 1_009);
    await world.run(phaseMs);
    end(a);
    const endedMs = world.nowMs;
    await world.run(100);
    const call = world.request(b, "R1");
    await world.runUntil(() => call.endedMs !== undefined, 30_000);
    expect(outcome(call)).toMatch(/in 2$|peer_unavailable/);
    // Its client tries again.
    const last = call.served === undefined ? world.request(b, "R1") : call;
    await world.runUntil(() => last.endedMs !== undefined, 15_000);
    gaps.push((last.endedMs ?? 0) - endedMs);
    expect(world.violations).toEqual([]);
  }
  return gaps.toSorted((one, other) => one - other);
}

describe("a home that ends", () => {
  test("is replaced within 2 to 8 s when its sockets are reset and it refuses dials", async () => {
    const gaps = await gapsMs((hub) => hub.kill());
    expect(gaps[0]).toBeGreaterThan(2_000);
    expect(gaps.at(-1)).toBeLessThan(5_000);
  });

  test("is replaced within 20 s when it is silent", async () => {
    const gaps = await gapsMs((hub) => hub.fallSilent());
    expect(gaps[0]).toBeGreaterThan(10_000);
    expect(gaps.at(-1)).toBeLessThan(20_000);
  });

  test("hands its rooms over when it stops, and no request fails", async () => {
    const { world, a, b, c } = await aHome();
    const calls: Call[] = [];
    for (let at = 0; at < 20; at += 1) {
      if (at === 5) void a.stop();
      calls.push(world.request(at % 2 === 0 ? b : c, "R1"));
      await world.run(50);
    }
    await world.run(500);
    const longestMs = Math.max(...calls.map(({ sentMs, endedMs = Infinity }) => endedMs - sentMs));
    expect(new Set(calls.map((call) => outcome(call).slice(1)))).toEqual(
      new Set(["1 in 1", "1 in 2"]),
    );
    expect(longestMs).toBeLessThan(300);
    expect(a.isAlive).toBe(false);
  });

  test("leaves its rooms to their first request when no hub keeps a snapshot", async () => {
    const { world, a, b, c } = await aHome();
    b.keepsSnapshots = false;
    c.keepsSnapshots = false;
    await Promise.all([a.stop(), world.run(1_000)]);
    expect([...b.taken, ...c.taken]).toEqual([]);
    const call = world.request(b, "R1");
    await world.run(300);
    expect(outcome(call)).toMatch(/^[bc]1 in 2$/);
  });

  test("takes its rooms back when it restarts within 2 s, in a new epoch", async () => {
    const { world, a, b } = await aHome();
    a.kill();
    const waiting = world.request(b, "R1");
    await world.run(1_000);
    const next = startHub(world, "a");
    await world.run(1_000);
    expect(outcome(waiting)).toBe("a2 in 2");
    expect(next.taken).toEqual(["R1 2"]);
  });

  test("is not replaced for a reset alone", async () => {
    const { world, a, b } = await aHome();
    b.roll.hubs.reset("a");
    const call = world.request(b, "R1");
    expect(b.homes.placeOf("R1")).toEqual({ kind: "wait" });
    await world.run(500);
    expect(outcome(call)).toBe("a1 in 1");
    expect(a.lost).toEqual([]);
  });

  test("is not replaced while it beats: after 15 s a request gets 503 with the time to try again", async () => {
    const { world, a, b } = await aHome();
    b.cutFrom.add(a);
    b.roll.hubs.reset("a");
    const call = world.request(b, "R1");
    await world.run(14_900);
    expect(call.endedMs).toBe(undefined);
    await world.run(500);
    expect(call.error).toMatchObject({ code: "peer_unavailable", retryAfterMs: 2_000 });
  });

  test("costs nothing for its rooms at rest", async () => {
    const { world, a, b, c } = await aHome();
    for (let n = 0; n < 200; n += 1) world.request(a, `AT REST ${n}`);
    await world.run(500);
    const before = [b.reads, c.reads];
    a.kill();
    await world.run(20_000);
    expect([b.reads, c.reads]).toEqual(before);
    expect([...b.taken, ...c.taken]).toEqual([]);
    const call = world.request(b, "AT REST 7");
    await world.run(300);
    expect(outcome(call)).toMatch(/^[bc]1 in 2$/);
  });
});

describe("of the hubs that can take a room over", () => {
  test("the first in rank does, wherever the request is", async () => {
    const takers = new Map<string, number>();
    const { world, a, b, c } = await aWorld();
    const codes = Array.from({ length: 40 }, (_, n) => `R${n}`);
    for (const code of codes) world.request(a, code);
    await world.run(500);
    a.kill();
    await world.run(10_000);
    const calls = codes.map((code) => [world.request(b, code), world.request(c, code)] as const);
    await world.run(1_000);
    for (const [one, other] of calls) {
      expect(outcome(one)).toBe(outcome(other));
      takers.set(outcome(one), (takers.get(outcome(one)) ?? 0) + 1);
    }
    expect([...takers.keys()].toSorted()).toEqual(["b1 in 2", "c1 in 2"]);
    expect(Math.min(...takers.values())).toBeGreaterThan(8);
  });

  test("the next in rank does 2 s later when the first does not respond", async () => {
    const { world, a, b, c } = await aWorld();
    const codes = Array.from({ length: 8 }, (_, n) => `R${n}`);
    for (const code of codes) world.request(a, code);
    await world.run(500);
    a.kill();
    await world.run(10_000);
    c.suspend();
    const calls = codes.flatMap((code) => [world.request(b, code), world.request(b, code)]);
    await world.run(1_000);
    const served = calls.filter((call) => call.served !== undefined).length;
    expect(served).toBeGreaterThan(0);
    expect(served).toBeLessThan(calls.length);
    await world.run(1_500);
    // The one that carries the mark is on its way to the other hub.
    const late = calls.filter((call) => call.served === undefined);
    expect(late.length).toBe((calls.length - served) / 2);
    expect(bootIds(world.alive())).toEqual(["b1", "c1"]);
  });

  test("one that has missed the home's beat takes what it is asked to, before it judges by itself", async () => {
    const { world, a, b, c } = await aHome();
    for (const hub of [b, c]) hub.cutFrom.add(a);
    a.kill();
    await world.run(6_000);
    expect([b.roll.isDead(a.self), c.roll.isDead(a.self)]).toEqual([false, false]);
    c.homes.askedToTake("R1", 1);
    const call = world.request(c, "R1");
    await world.run(100);
    expect(outcome(call)).toBe("c1 in 2");
  });

  test("one that sees the home beat takes nothing, whatever it is asked", async () => {
    const { world, a, c } = await aHome();
    c.homes.askedToTake("R1", 1);
    const call = world.request(c, "R1");
    await world.run(1_000);
    expect(call.endedMs).toBe(undefined);
    await world.run(1_500);
    expect(outcome(call)).toBe("a1 in 1");
    expect([a.lost, c.taken]).toEqual([[], []]);
  });
});

describe("a room that is handed over", () => {
  test("moves to the hub that its requests enter at, and keeps its home for 10 min then", async () => {
    const { world, a, b } = await aHome();
    for (let n = 0; n < 100; n += 1) a.homes.requestEntered("R1", "b");
    const to = a.homes.wantsMove("R1");
    expect(to).toEqual(b.self);
    const moved = a.homes.handOver("R1", b.self);
    const call = world.request(a, "R1");
    await world.run(200);
    await moved;
    expect(outcome(call)).toBe("b1 in 2");
    expect([b.taken, a.lost]).toEqual([["R1 2"], ["R1 2"]]);
    for (let n = 0; n < 100; n += 1) b.homes.requestEntered("R1", "a");
    expect(b.homes.wantsMove("R1")).toBe(undefined);
    await world.run(600_000);
    for (let n = 0; n < 100; n += 1) b.homes.requestEntered("R1", "a");
    expect(b.homes.wantsMove("R1")).toEqual(a.self);
  });

  test("leaves what was registered before confirmed at its home, until that one is replaced", async () => {
    const { world, a, b, c } = await aHome();
    void a.homes.handOver("R1", b.self);
    await world.run(200);
    const confirmed = a.homes.confirm("R1", 1);
    await world.run(50);
    await confirmed;
    void b.homes.handOver("R1", c.self);
    await world.run(200);
    const late = expect(a.homes.confirm("R1", 1)).rejects.toThrow("cannot be reached");
    await world.run(50);
    await late;
  });

  test("stays when the other hub does not keep the snapshot", async () => {
    const { world, a, b } = await aHome();
    b.keepsSnapshots = false;
    const ended = a.homes.handOver("R1", b.self);
    const call = world.request(b, "R1");
    await world.run(200);
    await ended;
    expect(outcome(call)).toBe("a1 in 1");
  });
});

describe("a room that is dropped", () => {
  test("leaves no entry, and what waits for it gets 404", async () => {
    const { world, a, b } = await aHome();
    b.roll.hubs.reset("a");
    const call = world.request(b, "R1");
    await world.run(10);
    world.rooms.delete("R1");
    a.homes.dropped("R1");
    await world.run(100);
    expect(await world.server.readHome("R1")).toBe(undefined);
    expect(outcome(call)).toBe("room_not_found");
    await world.run(1_000);
    expect(await world.server.readHome("R1")).toBe(undefined);
  });

  test("leaves no entry when it is dropped while it is taken", async () => {
    const { world, a } = await aWorld();
    world.request(a, "R1");
    await world.run(6);
    world.rooms.delete("R1");
    a.homes.dropped("R1");
    await world.run(1_000);
    expect(await world.server.readHome("R1")).toBe(undefined);
    expect(a.homes.placeOf("R1")).toEqual({ kind: "wait" });
  });
});
