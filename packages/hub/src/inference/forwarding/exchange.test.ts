import { describe, expect, test } from "vitest";
import {
  type Machine,
  type Participant,
  occupySlot,
  releaseSlot,
} from "../../domain/participant.ts";
import type { QueueEntry } from "../queue.ts";
import { createExchanges } from "./exchange.fixture.ts";

const someone = { address: "addr", person: "" };

/** A request of a hub that waits, and runs as soon as its participant is free. */
class WaitingRequest implements QueueEntry {
  readonly address: string;
  readonly person = "";
  readonly selectionKey: string;
  readonly candidates: readonly Participant[];
  readonly isHolding = false;
  readonly owned: readonly Participant[];
  readonly #goes: () => boolean;

  constructor(address: string, participant: Participant, goes: () => boolean, isOwn = false) {
    this.owned = isOwn ? [participant] : [];
    this.address = address;
    this.selectionKey = address;
    this.candidates = [participant];
    this.#goes = goes;
  }

  tryToLeave(): boolean {
    return this.#goes();
  }
}

/** Two hubs; `b` owns the participant ana. */
function twoHubs() {
  const net = createExchanges(["a", "b"], { ana: "b" });
  return { net, entry: net.hub("a"), owner: net.hub("b") };
}

type Lab = ReturnType<typeof twoHubs>;

/** Fills both slots of ana with requests of its own hub. @returns how to free one */
function fill({ owner }: Lab): () => void {
  const ana = owner.at("ana");
  for (let n = 0; n < 2; n++) occupySlot(ana, someone, 0);
  owner.exchange.loadChanged(ana);
  return () => {
    releaseSlot(ana, undefined, someone, 0);
    owner.exchange.loadChanged(ana);
    owner.queues.wake(owner.room.code);
  };
}

/** What the entry hub does with a free slot: it takes it, and its owner gives it to the forwarded request. */
function forwards({ entry, owner, net }: Lab, log: string[], name: string): () => boolean {
  return () => {
    const ana = entry.at("ana");
    const isFree = ana.active + (ana.remote?.elsewhere ?? 0) < ana.limit;
    if (!isFree && ana.remote?.grant === undefined) return false;
    occupySlot(ana, someone, 0);
    const { hubId } = net.identity("a");
    const had = owner.exchange.slots.takeGrant(owner.at("ana"), hubId);
    occupySlot(owner.at("ana"), someone, 0);
    owner.exchange.slots.changed(owner.at("ana"), hubId, 1);
    log.push(`${name} ${had ? "with" : "without"} a grant`);
    return true;
  };
}

describe("what hubs tell one another of load", () => {
  test("reaches the other hub when it changes, without the slots of that hub's own requests", () => {
    const lab = twoHubs();
    const { net, entry, owner } = lab;
    const [here, there] = [entry.at("ana"), owner.at("ana")];
    occupySlot(there, someone, 0);
    owner.exchange.loadChanged(there);
    net.pass(200);
    expect(here.remote?.elsewhere).toBe(1);
    occupySlot(there, someone, 0);
    owner.exchange.slots.changed(there, net.identity("a").hubId, 1);
    net.pass(200);
    expect(here.remote?.elsewhere).toBe(1);
    expect(owner.exchange.slots.elsewhere(there, "another")).toBe(2);
  });

  test("is sent at most ten times a second per participant, and the last state always", () => {
    const lab = twoHubs();
    const { net, entry, owner } = lab;
    const there = owner.at("ana");
    net.pass(1_000);
    let loads = 0;
    const noticed = entry.exchange.noticed.bind(entry.exchange);
    entry.exchange.noticed = (hub, notice) => {
      loads += (notice as { items: unknown[] }).items.length;
      noticed(hub, notice);
    };
    for (let n = 0; n < 100; n++) {
      if (n % 2 === 0) occupySlot(there, someone, 0);
      else releaseSlot(there, undefined, someone, 0);
      owner.exchange.loadChanged(there);
      net.pass(10);
    }
    occupySlot(there, someone, 0);
    owner.exchange.loadChanged(there);
    net.pass(200);
    expect(loads).toBeLessThanOrEqual(11);
    expect(entry.at("ana").remote?.elsewhere).toBe(1);
  });

  test("is not sent while nothing has changed", () => {
    const { net, owner } = twoHubs();
    owner.exchange.loadChanged(owner.at("ana"));
    net.pass(200);
    owner.exchange.loadChanged(owner.at("ana"));
    let isQuiet = true;
    net.hub("a").exchange.noticed = () => void (isQuiet = false);
    net.pass(500);
    expect(isQuiet).toBe(true);
  });

  test("counts a shared machine that is full", () => {
    const { net, owner } = twoHubs();
    const there = owner.at("ana");
    net.hub("b").machines.assign(there, "0123456789abcdef");
    const { machine } = there as { machine: Machine };
    Object.assign(machine, { active: 3, limit: 4 });
    expect(owner.exchange.slots.elsewhere(there, net.identity("a").hubId)).toBe(1);
    machine.active = 4;
    expect(owner.exchange.slots.elsewhere(there, net.identity("a").hubId)).toBe(2);
  });

  test("is complete for a hub whose link has just opened", () => {
    const lab = twoHubs();
    fill(lab);
    const { net, entry, owner } = lab;
    net.wire.length = 0;
    owner.exchange.linkOpened(net.identity("a"));
    net.pass(200);
    expect(entry.at("ana").remote?.elsewhere).toBe(2);
  });

  test("counts only from the hub that owns the participant", () => {
    const net = createExchanges(["a", "b", "c"], { ana: "b" });
    const load = { kind: "load", at: { roomCode: "ABC234", id: "ana", key: "key of ana" } };
    const item = { ...load, elsewhere: 9, limit: 9, limitFrom: "engine", lastSeenAt: 1 };
    const { exchange, at } = net.hub("a");
    exchange.noticed(net.identity("c"), { kind: "batch", items: [item] });
    exchange.noticed({ ...net.identity("b"), bootId: "another" }, { kind: "batch", items: [item] });
    exchange.noticed(net.identity("c"), { kind: "grant", at: load.at });
    expect(at("ana").remote).toMatchObject({ elsewhere: 0, grant: undefined });
    exchange.noticed(net.identity("b"), { kind: "batch", items: [item] });
    expect(at("ana")).toMatchObject({ limit: 9, limitFrom: "engine" });
  });

  test("comes with the pace that responses at any hub have shown", () => {
    const { net, entry, owner } = twoHubs();
    const [here, there] = [entry.at("ana"), owner.at("ana")];
    const sample = {
      shows: "speed",
      form: "stream",
      promptBytes: 1_000,
      coldBytes: 1_000,
    } as const;
    for (const tookMs of [100, 120]) entry.exchange.measured(here, { ...sample, tookMs });
    net.pass(500);
    const expected = there.pace.expectedFirstMs("stream", 1_000, net.nowMs());
    expect(expected).toBeCloseTo(110, -1);
    expect(here.pace.expectedFirstMs("stream", 1_000, net.nowMs())).toBe(expected);
    entry.exchange.noted(here, { hasFailed: true, restsMs: 5_000, refusesStreamUsage: true });
    net.pass(500);
    expect(there.pace.isDoubtful(net.nowMs())).toBe(true);
    expect([there.refusesStreamUsage, owner.rests.length]).toEqual([true, 1]);
  });
});

describe("requests that wait at another hub", () => {
  test("get a slot in turn with those of the participant's own hub", () => {
    const lab = twoHubs();
    const { net, entry, owner } = lab;
    const free = fill(lab);
    net.pass(200);
    const log: string[] = [];
    const ana = owner.at("ana");
    const own = (name: string) => () => {
      if (ana.active >= ana.limit) return false;
      occupySlot(ana, someone, 0);
      return log.push(name) > 0;
    };
    owner.queues.of("ABC234").add(new WaitingRequest("own", ana, own("own 1")), false);
    owner.queues.of("ABC234").add(new WaitingRequest("own", ana, own("own 2")), false);
    const waiting = new WaitingRequest("far", entry.at("ana"), forwards(lab, log, "far 1"));
    entry.queues.of("ABC234").add(waiting, false);
    net.pass(200);
    expect(log).toEqual([]);
    for (let n = 0; n < 3; n++) {
      free();
      net.pass(60);
    }
    expect(log).toEqual(["own 1", "far 1 with a grant", "own 2"]);
  });

  test("and come from the participant's owner go first there, to every second slot while others wait", () => {
    const lab = twoHubs();
    const { net, entry, owner } = lab;
    for (const hub of [entry, owner]) hub.at("ana").clientKeyDigest = new Uint8Array(32);
    const free = fill(lab);
    net.pass(200);
    const log: string[] = [];
    const ana = owner.at("ana");
    const here = (name: string) => () => {
      if (ana.active >= ana.limit) return false;
      occupySlot(ana, someone, 0);
      return log.push(name) > 0;
    };
    const there = (name: string) => {
      const goes = forwards(lab, log, name);
      return () => goes() && ((log[log.length - 1] = name), true);
    };
    for (const name of ["here 1", "here 2"]) {
      owner.queues.of("ABC234").add(new WaitingRequest(name, ana, here(name)), false);
    }
    net.pass(50);
    const far = entry.at("ana");
    const queue = entry.queues.of("ABC234");
    queue.add(new WaitingRequest("other", far, there("other")), false);
    for (const name of ["own 1", "own 2"]) {
      queue.add(new WaitingRequest("own", far, there(name), true), false);
    }
    net.pass(200);
    for (let n = 0; n < 5; n++) {
      free();
      net.pass(60);
    }
    expect(log[0]).toBe("own 1");
    expect(log[2]).toBe("own 2");
    expect(new Set([log[1], log[3], log[4]])).toEqual(new Set(["here 1", "here 2", "other"]));
  });

  test("are granted one slot after the other, and all go", () => {
    const lab = twoHubs();
    const { net, entry, owner } = lab;
    const free = fill(lab);
    net.pass(200);
    const log: string[] = [];
    for (let n = 0; n < 4; n++) {
      const waiting = new WaitingRequest(`${n}`, entry.at("ana"), forwards(lab, log, `${n}`));
      entry.queues.of("ABC234").add(waiting, false);
    }
    net.pass(100);
    free();
    free();
    net.pass(300);
    expect(log).toEqual(["0 with a grant", "1 with a grant"]);
    expect(owner.at("ana").active).toBe(2);
  });

  test("that leave before their turn free the slot that was held for them after 250 ms", () => {
    const lab = twoHubs();
    const { net, entry, owner } = lab;
    const free = fill(lab);
    net.pass(200);
    const waiting = new WaitingRequest("far", entry.at("ana"), () => false);
    entry.queues.of("ABC234").add(waiting, false);
    net.pass(100);
    entry.queues.of("ABC234").remove(waiting);
    // The grant is on its way before the owner hears of it.
    free();
    expect(owner.at("ana").active).toBe(2);
    net.pass(200);
    expect(owner.at("ana").active).toBe(2);
    net.pass(100);
    expect(owner.at("ana").active).toBe(1);
    expect(entry.at("ana").remote?.grant).toBeUndefined();
  });

  test("are forgotten when they leave, and when their hub is lost", () => {
    const lab = twoHubs();
    const { net, entry, owner } = lab;
    fill(lab);
    net.pass(200);
    const waiting = new WaitingRequest("far", entry.at("ana"), () => false);
    entry.queues.of("ABC234").add(waiting, false);
    net.pass(100);
    expect(owner.queues.sizeOf("ABC234")).toBe(1);
    entry.queues.of("ABC234").remove(waiting);
    net.pass(100);
    expect(owner.queues.sizeOf("ABC234")).toBe(0);
    entry.queues.of("ABC234").add(waiting, false);
    net.pass(100);
    owner.exchange.linkClosed(net.identity("a"));
    expect(owner.queues.sizeOf("ABC234")).toBe(0);
    entry.exchange.linkOpened(net.identity("b"));
    net.pass(100);
    expect(owner.queues.sizeOf("ABC234")).toBe(1);
  });

  test.each([
    ["left", (lab: Lab) => void lab.owner.room.participants.delete("ana")],
    [
      "moved to another hub",
      (lab: Lab) => void (lab.owner.at("ana").remote = lab.entry.at("ana").remote),
    ],
  ])("do not wait at a hub whose participant has %s", (_what, go) => {
    const lab = twoHubs();
    const { net, entry, owner } = lab;
    fill(lab);
    net.pass(200);
    entry.queues.of("ABC234").add(new WaitingRequest("far", entry.at("ana"), () => false), false);
    net.pass(100);
    expect(owner.queues.sizeOf("ABC234")).toBe(1);
    go(lab);
    owner.queues.wake("ABC234");
    net.pass(300);
    expect(owner.queues.sizeOf("ABC234")).toBe(0);
    expect(entry.at("ana").remote?.grant).toBeUndefined();
  });

  test("hold a slot for their hub only until the request comes, and for no other", () => {
    const lab = twoHubs();
    const { net, entry, owner } = lab;
    const free = fill(lab);
    net.pass(200);
    entry.queues.of("ABC234").add(new WaitingRequest("far", entry.at("ana"), () => false), false);
    net.pass(100);
    free();
    const [ana, { hubId }] = [owner.at("ana"), net.identity("a")];
    expect(owner.exchange.slots.takeGrant(ana, "another")).toBe(false);
    expect(owner.exchange.slots.takeGrant(ana, hubId)).toBe(true);
    expect(owner.exchange.slots.takeGrant(ana, hubId)).toBe(false);
    expect(ana.active).toBe(1);
  });
});

describe("what hubs tell one another of conversations", () => {
  const prompt = { session: undefined, borders: [{ key: 7, bytes: 1_024 }], bytes: 2_000 };

  test("makes a prompt that one hub placed warm at all", () => {
    const net = createExchanges(["a", "b", "c"], { ana: "b" });
    net.hub("a").exchange.placed(net.hub("a").at("ana"), prompt, false);
    net.pass(100);
    for (const name of ["b", "c"]) {
      const { room, at } = net.hub(name);
      expect(room.placing.warm.warmBytes(prompt, net.nowMs()).get(at("ana"))).toBe(2_000);
    }
  });

  test("binds a session to the same participant at all hubs", () => {
    const net = createExchanges(["a", "b", "c"], { ana: "b" });
    const named = { ...prompt, session: "0123456789abcdef" };
    net.hub("a").exchange.placed(net.hub("a").at("ana"), named, true);
    net.pass(100);
    for (const name of ["b", "c"]) {
      const { room, at } = net.hub(name);
      expect(room.placing.sessions.find(named.session, net.nowMs())).toBe(at("ana"));
    }
  });

  test("names the maker of a response, at once or when a hub asks", async () => {
    const net = createExchanges(["a", "b", "c"], { ana: "b" });
    const [a, b, c] = [net.hub("a"), net.hub("b"), net.hub("c")];
    a.exchange.responseMade(a.at("ana"), "resp_1");
    net.pass(100);
    expect(c.makers.ownerOf(c.room, "resp_1")).toBe(c.at("ana"));
    b.makers.remember(b.room, "resp_2", b.at("ana"));
    expect(await a.exchange.findMaker(a.room, "resp_2")).toBe(a.at("ana"));
    expect(a.makers.ownerOf(a.room, "resp_2")).toBe(a.at("ana"));
    expect(await a.exchange.findMaker(a.room, "resp_3")).toBeUndefined();
  });
});

test("the hub with the client learns that its request goes on, from the participant's owner alone", () => {
  const { net, entry, owner } = twoHubs();
  const ana = owner.at("ana");
  owner.exchange.resumed(ana, net.identity("a").hubId, "req_1");
  net.deliver();
  expect(entry.resumed).toEqual(["req_1 at ana"]);
  entry.exchange.resumed(entry.at("ana"), net.identity("b").hubId, "req_2");
  net.deliver();
  expect(owner.resumed).toEqual([]);
});
