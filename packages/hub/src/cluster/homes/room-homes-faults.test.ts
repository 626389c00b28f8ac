import { describe, expect, test } from "vitest";
import { DirectoryUnavailable } from "../directory.ts";
import { aHome, outcome } from "./three-hubs.fixture.ts";

describe("while the directory is away", () => {
  test("homes keep serving, and requests still find them", async () => {
    const { world, a, b, c } = await aHome();
    for (const hub of [a, b, c]) hub.directory.cutOff();
    await world.run(60_000);
    const calls = [a, b, c].map((hub) => world.request(hub, "R1"));
    await world.run(100);
    expect(calls.map((call) => outcome(call))).toEqual(["a1 in 1", "a1 in 1", "a1 in 1"]);
  });

  test("requests for a dead hub's rooms are refused at once", async () => {
    const { world, a, b, c } = await aHome();
    for (const hub of [b, c]) hub.directory.cutOff();
    a.kill();
    await world.run(1_000);
    const call = world.request(b, "R1");
    await world.run(20);
    expect(outcome(call)).toBe("peer_unavailable");
    b.directory.heal();
    await world.run(12_000);
    const later = world.request(b, "R1");
    await world.run(3_000);
    expect(outcome(later)).toMatch(/in 2$/);
  });

  test("a hub that was suspended serves its rooms at once, and a room that another hub took goes to it afterwards", async () => {
    const { world, a, b } = await aHome();
    a.directory.cutOff();
    await world.run(20_000);
    const taken = world.request(b, "R1");
    await world.run(500);
    // The two still reach each other: it is not dead.
    expect(outcome(taken)).toBe("a1 in 1");
    a.suspend();
    await world.run(25_000);
    const other = world.request(b, "R1");
    await world.run(5_000);
    expect(outcome(other)).toMatch(/^[bc]1 in 2$/);
    a.resume();
    const own = world.request(a, "R1");
    await world.run(50);
    expect(outcome(own)).toBe("a1 in 1");
    a.directory.heal();
    await world.run(100);
    const after = world.request(a, "R1");
    await world.run(100);
    expect(outcome(after)).toBe(outcome(other));
    expect(a.lost).toEqual(["R1 2"]);
    expect(world.violations).toEqual([]);
  });
});

describe("a directory that lost its entries", () => {
  test("gets them back from the homes, in the epoch they have", async () => {
    const { world, a, b } = await aHome();
    await world.empty();
    expect(await world.server.readHome("R1")).toBe(undefined);
    await world.run(200);
    expect(await world.server.readHome("R1")).toMatchObject({ home: { ...a.self, epoch: 1 } });
    const call = world.request(b, "R1");
    await world.run(100);
    expect(outcome(call)).toBe("a1 in 1");
  });

  test("gets the one of the higher epoch of two homes", async () => {
    const { world, a, b } = await aHome();
    a.suspend();
    await world.run(25_000);
    const call = world.request(b, "R1");
    await world.run(5_000);
    a.directory.cutOff();
    a.resume();
    await world.empty();
    await world.run(500);
    const after = [a, b].map((hub) => world.request(hub, "R1"));
    await world.run(500);
    expect(after.map((one) => outcome(one))).toEqual([outcome(call), outcome(call)]);
    expect(a.lost).toEqual(["R1 2"]);
  });
});

describe("a home that was suspended", () => {
  test("looks at the directory before it serves anything, and lets go of a room that another hub has", async () => {
    const { world, a, b } = await aHome();
    a.suspend();
    const first = world.request(b, "R1");
    await world.run(20_000);
    const second = world.request(b, "R1");
    await world.run(5_000);
    expect(first.served?.epoch ?? 2).toBe(2);
    expect(outcome(second)).toMatch(/^[bc]1 in 2$/);
    a.resume();
    expect(a.homes.placeOf("R1")).toEqual({ kind: "wait" });
    const own = world.request(a, "R1");
    await world.run(200);
    expect(outcome(own)).toBe(outcome(second));
    expect(a.lost).toEqual(["R1 2"]);
    expect(world.violations).toEqual([]);
  });

  test("goes on when the room is still its own", async () => {
    const { world, a } = await aHome();
    const before = a.reads;
    a.suspend();
    await world.run(4_000);
    a.resume();
    expect(a.homes.placeOf("R1")).toEqual({ kind: "wait" });
    const call = world.request(a, "R1");
    await world.run(100);
    expect(outcome(call)).toBe("a1 in 1");
    expect(a.reads).toBe(before + 1);
  });

  test("does not look after a pause of less than a beat", async () => {
    const { world, a } = await aHome();
    a.suspend();
    await world.run(2_700);
    a.resume();
    expect(a.homes.placeOf("R1")).toEqual({ kind: "here", epoch: 1 });
  });

  test("gives a directory that it has just lost 5 s to come back", async () => {
    const { world, a } = await aHome();
    a.suspend();
    await world.run(60_000);
    a.resume();
    expect(a.homes.placeOf("R1")).toEqual({ kind: "wait" });
    a.directory.cutOff();
    const call = world.request(a, "R1");
    await world.run(4_500);
    expect(call.endedMs).toBe(undefined);
    await world.run(1_000);
    expect(outcome(call)).toBe("a1 in 1");
  });
});

describe("a higher epoch that a hop or an agent has seen", () => {
  test("makes a home go above it when the directory does not know it", async () => {
    const { world, a, b } = await aHome();
    a.homes.sawEpoch("R1", 7);
    expect(a.homes.placeOf("R1")).toEqual({ kind: "wait" });
    const call = world.request(b, "R1");
    await world.run(200);
    expect(outcome(call)).toBe("a1 in 8");
    expect(a.taken).toEqual(["R1 1", "R1 8"]);
  });

  test("is not believed when no room can have it", async () => {
    const { a } = await aHome();
    for (const epoch of [2 ** 50, Number.NaN, 1.5, -1, 1]) a.homes.sawEpoch("R1", epoch);
    expect(a.homes.placeOf("R1")).toEqual({ kind: "here", epoch: 1 });
  });
});

describe("a hub that sends a request where the home no longer is", () => {
  test("looks at the directory, and tries the same hub again after a pause", async () => {
    const { world, a, b } = await aHome();
    const there = b.homes.placeOf("R1");
    expect(there).toEqual({ kind: "there", home: { ...a.self, epoch: 1 }, mustTake: false });
    const before = b.reads;
    b.homes.notServedBy("R1", { ...a.self, epoch: 1 });
    expect(b.homes.placeOf("R1")).toEqual({ kind: "wait" });
    await world.run(600);
    expect([b.homes.placeOf("R1"), b.reads - before]).toEqual([there, 1]);
  });

  test("looks at the directory when it hears of a higher epoch", async () => {
    const { world, b } = await aHome();
    const there = b.homes.placeOf("R1");
    b.homes.sawEpoch("R1", 5);
    expect(b.homes.placeOf("R1")).toEqual({ kind: "wait" });
    await world.run(50);
    expect(b.homes.placeOf("R1")).toEqual(there);
  });
});

describe("a home that was never heard of", () => {
  test("is dead 10 s after its entry was read", async () => {
    const { world, b } = await aHome();
    world.rooms.add("OLD");
    await world.server.putHome("OLD", { hubId: "z", bootId: "z1", epoch: 4 }, 0);
    await world.run(11_000);
    const call = world.request(b, "OLD");
    await world.run(300);
    expect(outcome(call)).toMatch(/ in 5$/);
  });
});

describe("a registration that a home has written", () => {
  test("is confirmed when the directory still names this hub", async () => {
    const { world, a } = await aHome();
    const confirmed = a.homes.confirm("R1", 1);
    await world.run(50);
    expect(await confirmed).toBe(undefined);
  });

  test("is not confirmed when the next home may have read without it", async () => {
    const { world, a, b } = await aHome();
    a.suspend();
    await world.run(20_000);
    world.request(b, "R1");
    await world.run(5_000);
    a.resume();
    const confirmed = expect(a.homes.confirm("R1", 1)).rejects.toThrow("cannot be reached");
    await world.run(100);
    await confirmed;
    expect(a.lost).toEqual(["R1 2"]);
  });

  test("is written again when the directory has lost the room's entry", async () => {
    const { world, a } = await aHome();
    await world.server.deleteHome("R1", (await world.server.readHome("R1"))?.revision ?? 0);
    const confirmed = expect(a.homes.confirm("R1", 1)).rejects.toThrow(DirectoryUnavailable);
    await world.run(100);
    await confirmed;
    expect(await world.server.readHome("R1")).toMatchObject({ home: { ...a.self, epoch: 1 } });
  });
});
