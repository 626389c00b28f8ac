import { array, assert, boolean, constantFrom, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { isFull, occupySlot, type Participant, releaseSlot } from "../../domain/participant.ts";
import type { QueueEntry } from "../queue.ts";
import { createExchanges } from "./exchange.fixture.ts";

const someone = { address: "addr", person: "" };

/** Hubs that own one participant each, in front of one machine with so many slots. */
function sharedMachine(limit: number, names = ["a", "b"]) {
  const ids = Object.fromEntries(names.map((name) => [`of-${name}`, name]));
  const net = createExchanges(names, ids);
  const hubs = names.map((name) => {
    const hub = net.hub(name);
    for (const id of Object.keys(ids)) hub.at(id).limit = limit;
    const one = hub.at(`of-${name}`);
    const run = () => {
      const machine = occupySlot(one, someone, net.nowMs());
      hub.exchange.loadChanged(one);
      return (): void => {
        releaseSlot(one, machine, someone, net.nowMs());
        hub.exchange.loadChanged(one);
        hub.queues.wake(hub.room.code);
      };
    };
    return { ...hub, one, run, isFull: () => isFull(one) };
  });
  for (const hub of hubs) {
    for (const id of Object.keys(ids)) {
      const participant = hub.at(id);
      const isOwn = participant.remote === undefined;
      if (isOwn) hub.machines.assign(participant, "0123456789abcdef");
      else hub.machines.assignRemote(participant, "0123456789abcdef");
    }
  }
  net.pass(100);
  return { net, hubs: hubs as [SharingHub, SharingHub, ...SharingHub[]] };

  type SharingHub = (typeof hubs)[number];
}

type Hub = ReturnType<typeof sharedMachine>["hubs"][number];

/** A request that waits at a hub, and runs as soon as its participant is free. */
class Waiting implements QueueEntry {
  readonly address: string;
  readonly person = "";
  readonly selectionKey: string;
  readonly candidates: readonly Participant[];
  readonly isHolding = false;
  readonly owned = [];
  readonly #hub: Hub;
  readonly #started: (end: () => void) => void;

  constructor(hub: Hub, address: string, started: (end: () => void) => void) {
    this.#hub = hub;
    this.#started = started;
    this.address = address;
    this.selectionKey = address;
    this.candidates = [hub.one];
  }

  tryToLeave(): boolean {
    if (isFull(this.#hub.one)) return false;
    this.#started(this.#hub.run());
    return true;
  }
}

function wait(hub: Hub, address: string, started: (end: () => void) => void): QueueEntry {
  const entry = new Waiting(hub, address, started);
  hub.queues.of(hub.room.code).add(entry, false);
  return entry;
}

describe("a machine whose participants belong to two hubs", () => {
  test("is full at both when its slots are taken at one", () => {
    const { net, hubs } = sharedMachine(2);
    const [a, b] = hubs;
    const ends = [a.run(), a.run()];
    net.deliver();
    expect([a.isFull(), b.isFull()]).toEqual([true, true]);
    ends[0]?.();
    net.pass(50);
    expect([a.isFull(), b.isFull()]).toEqual([false, false]);
  });

  test("has the same limit at both, whichever hub's participants declare it", () => {
    const { hubs, net } = sharedMachine(3);
    const [a, b] = hubs;
    a.one.limit = 1;
    a.exchange.loadChanged(a.one);
    net.pass(50);
    b.run();
    net.deliver();
    expect([a.one.machine?.limit, b.one.machine?.limit]).toEqual([1, 1]);
    expect([a.isFull(), b.isFull()]).toEqual([true, true]);
  });

  test("gives its slots in turn to the requests that wait at both, and never more than it has", () => {
    const { net, hubs } = sharedMachine(1);
    const [a, b] = hubs;
    const order: string[] = [];
    const running: (() => void)[] = [];
    const started = (name: string) => (end: () => void) => {
      order.push(name);
      running.push(end);
      expect(running).toHaveLength(1);
    };
    const end = () => {
      running.shift()?.();
      net.pass(60);
    };
    running.push(a.run());
    net.pass(20);
    for (const n of [1, 2, 3]) {
      wait(a, `a${n}`, started("a"));
      wait(b, `b${n}`, started("b"));
    }
    net.pass(50);
    expect(order).toEqual([]);
    for (let n = 0; n < 6; n++) end();
    expect(order.join("")).toMatch(/^(?:ab|ba){3}$/);
  });

  /** Both wait for the one slot, and the request of the other hub would not take it. */
  function bothWait() {
    const { net, hubs } = sharedMachine(1);
    const [a, b] = hubs;
    const end = a.run();
    net.pass(20);
    const other = wait(b, "b", () => {});
    let hasStarted = false;
    wait(a, "a", () => void (hasStarted = true));
    net.pass(50);
    other.tryToLeave = () => false;
    return { net, b, end, hasStarted: () => hasStarted };
  }

  test("lets the own requests go on when the hub that a slot is held for does not use it", () => {
    const { net, b, end, hasStarted } = bothWait();
    const noticed = b.exchange.noticed.bind(b.exchange);
    b.exchange.noticed = () => {};
    end();
    net.pass(100);
    expect(hasStarted()).toBe(false);
    net.pass(200);
    expect(hasStarted()).toBe(true);
    b.exchange.noticed = noticed;
  });

  test("lets the own requests go on at once when the other hub says that it does not use the slot", () => {
    const { net, end, hasStarted } = bothWait();
    end();
    net.pass(50);
    expect(hasStarted()).toBe(true);
  });

  test("has one request too many at most when both hubs start one at the same moment, until one has ended", () => {
    const { net, hubs } = sharedMachine(1);
    const [a, b] = hubs;
    const ends = [a.run(), b.run()];
    net.pass(50);
    ends[0]?.();
    net.pass(50);
    expect([a.isFull(), b.isFull()]).toEqual([true, true]);
    ends[1]?.();
    net.pass(50);
    expect([a.isFull(), b.isFull()]).toEqual([false, false]);
  });

  test("is a hub's own while the link to the other is lost, and shared again afterwards", () => {
    const { net, hubs } = sharedMachine(1);
    const [a, b] = hubs;
    a.run();
    net.pass(50);
    b.exchange.linkClosed(net.identity("a"));
    expect(b.isFull()).toBe(false);
    b.exchange.linkOpened(net.identity("a"));
    net.pass(50);
    expect(b.isFull()).toBe(true);
  });

  test("is not full for long by a slot of which only the end was not heard", () => {
    const { net, hubs } = sharedMachine(1);
    const [a, b] = hubs;
    const end = a.run();
    net.pass(50);
    let hasStarted = false;
    wait(b, "b", () => void (hasStarted = true));
    net.pass(50);
    const noticed = b.exchange.noticed.bind(b.exchange);
    b.exchange.noticed = () => {};
    end();
    net.pass(50);
    b.exchange.noticed = noticed;
    expect(hasStarted).toBe(false);
    net.pass(1_500);
    expect(hasStarted).toBe(true);
  });

  test("is the other hub's alone once this one has no participant of it", () => {
    const { net, hubs } = sharedMachine(1);
    const [a, b] = hubs;
    a.run();
    net.pass(50);
    expect(b.isFull()).toBe(true);
    b.machines.assignRemote(b.at("of-a"), undefined);
    expect(b.isFull()).toBe(false);
  });
});

test("of three hubs that wait for one slot each gets it in turn", () => {
  const { net, hubs } = sharedMachine(1, ["a", "b", "c"]);
  const running: (() => void)[] = [hubs[0].run()];
  const order: string[] = [];
  net.pass(20);
  for (const hub of hubs) {
    for (const n of [1, 2]) {
      wait(hub, `${n}`, (end) => {
        order.push(hub.name);
        running.push(end);
        expect(running).toHaveLength(1);
      });
    }
  }
  net.pass(50);
  for (let n = 0; n < 6; n++) {
    running.shift()?.();
    net.pass(60);
  }
  expect(order).toHaveLength(6);
  expect(new Set(order.slice(0, 3)).size).toBe(3);
});

test("whatever three hubs do, all their requests run, and no more at once than there are slots when each has heard of the others before the next step", () => {
  const step = record({
    what: constantFrom("wait", "wait", "end", "pass"),
    hub: constantFrom(0, 1, 2),
    ms: constantFrom(0, 1, 30, 300),
  });
  const all = array(step, { maxLength: 60 });
  const check = property(constantFrom(1, 2), boolean(), all, (limit, isQuick, steps) => {
    const { net, hubs } = sharedMachine(limit, ["a", "b", "c"]);
    const running: (() => void)[] = [];
    let [sent, served] = [0, 0];
    for (const { what, hub, ms } of steps) {
      const at = hubs[hub] ?? hubs[0];
      if (what === "wait") {
        wait(at, `${hub}`, (end) => {
          served++;
          running.push(end);
          expect(running.length).toBeLessThanOrEqual(isQuick ? limit : limit * hubs.length);
        });
        sent++;
        at.queues.wake(at.room.code);
      } else if (what === "end") running.shift()?.();
      else net.pass(ms);
      if (isQuick) net.pass(25);
    }
    net.pass(1_500);
    while (running.length > 0) {
      running.shift()?.();
      net.pass(1_500);
    }
    expect(served).toBe(sent);
    expect(hubs.map(({ one }) => one.machine?.elsewhere)).toEqual([0, 0, 0]);
  });
  assert(check, { numRuns: 200 });
});
