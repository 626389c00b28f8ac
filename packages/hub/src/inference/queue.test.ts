import { array, assert, boolean, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import type { Participant } from "../domain/participant.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { RoomQueue, RoomQueues, type QueueEntry } from "./queue.ts";

/** An entry that leaves as soon as one of its candidates has room. */
class Waiting implements QueueEntry {
  readonly name: string;
  readonly address: string;
  readonly person = "";
  readonly isBatch: boolean;
  readonly selectionKey: string;
  candidates: readonly Participant[];
  /** in place of its candidates, when the participants have changed */
  found: readonly Participant[] | undefined;
  readonly #left: string[];
  readonly owned: readonly Participant[] = [];
  readonly isHolding = false;
  /** called before it has left */
  onLeft: ((participant: Participant) => void) | undefined;
  tries = 0;

  constructor(
    name: string,
    address: string,
    candidates: Participant[],
    left: string[],
    isBatch = false,
  ) {
    this.name = name;
    this.isBatch = isBatch;
    this.address = address;
    this.selectionKey = candidates.map((one) => one.id).join();
    this.candidates = candidates;
    this.#left = left;
  }

  findCandidates(): readonly Participant[] {
    return this.found ?? this.candidates;
  }

  setCandidates(candidates: readonly Participant[]): void {
    this.candidates = candidates;
  }

  tryToLeave(): boolean {
    this.tries++;
    const free = this.candidates.find((one) => one.load.active < one.load.limit);
    if (free === undefined) return false;
    free.load.active++;
    this.#left.push(this.name);
    this.onLeft?.(free);
    return true;
  }
}

/** Of an entry that always has the same candidates, and owns none of them. */
const unchanging = {
  ...{ person: "", isBatch: false, isHolding: false, owned: [] },
  ...{ findCandidates: () => [], setCandidates: () => undefined },
};

function bench(maxEntries = 256) {
  const queue = new RoomQueue(maxEntries);
  const left: string[] = [];
  const busy = (id: string) => aParticipant({ id, active: 1, limit: 1 });
  const add = (name: string, address: string, candidates: Participant[], atHead = false) => {
    const entry = new Waiting(name, address, candidates, left);
    queue.add(entry, atHead);
    return entry;
  };
  /** One slot of this participant becomes free, once for each. */
  const free = (participant: Participant, times = 1) => {
    for (let time = 0; time < times; time++) {
      participant.load.active--;
      queue.wake();
    }
  };
  return { queue, left, busy, add, free };
}

describe("whose turn it is", () => {
  test("within one client: the request that came first", () => {
    const { left, busy, add, free } = bench();
    const a = busy("a");
    for (const name of ["1", "2", "3"]) add(name, "x", [a]);
    free(a, 3);
    expect(left).toEqual(["1", "2", "3"]);
  });

  test("between clients: one each in turn, however many one of them has waiting", () => {
    const { left, busy, add, free } = bench();
    const a = busy("a");
    for (const name of ["x1", "x2", "x3", "x4"]) add(name, "x", [a]);
    for (const name of ["y1", "y2"]) add(name, "y", [a]);
    add("z1", "z", [a]);
    free(a, 7);
    expect(left).toEqual(["x1", "y1", "z1", "x2", "y2", "x3", "x4"]);
  });

  test("several slots at once are shared out the same way", () => {
    const { queue, left, busy, add } = bench();
    const a = busy("a");
    for (const name of ["x1", "x2", "x3"]) add(name, "x", [a]);
    add("y1", "y", [a]);
    a.load.limit = 4;
    queue.wake();
    expect(left).toEqual(["x1", "y1", "x2"]);
  });

  test("a retry is first, before its own client's others and before all clients", () => {
    const { left, busy, add, free } = bench();
    const a = busy("a");
    add("y1", "y", [a]);
    add("x1", "x", [a]);
    add("retry", "x", [a], true);
    add("retry of a newcomer", "z", [a], true);
    free(a, 4);
    expect(left).toEqual(["retry", "retry of a newcomer", "y1", "x1"]);
  });

  test("a model that is busy holds up no request for another one", () => {
    const { left, busy, add, free } = bench();
    const [a, b] = [busy("a"), busy("b")];
    const stuck = add("stuck", "x", [a]);
    add("stuck too", "x", [a]);
    add("goes", "x", [b]);
    free(b);
    expect(left).toEqual(["goes"]);
    expect(stuck.tries, "its like are not tried again and again").toBe(1);
  });
});

describe("the bound", () => {
  test("n wait, n + 1 is refused, and a retry always finds a place", () => {
    const { queue, busy, add } = bench(2);
    const a = busy("a");
    add("1", "x", [a]);
    add("2", "y", [a]);
    expect(() => add("3", "z", [a])).toThrow(expect.objectContaining({ code: "queue_full" }));
    expect(a.load.queued).toBe(2);
    add("retry", "z", [a], true);
    expect(queue.size).toBe(3);
  });
});

test("a change of participants concerns all requests of a kind, however many kinds wait between them", () => {
  const { queue, busy, add } = bench();
  const [old, next] = [busy("old"), busy("next")];
  const first = add("first", "x", [old]);
  for (let kind = 0; kind < 40; kind++) add(`${kind}`, "x", [busy(`${kind}`)]);
  const last = add("last", "x", [old]);
  first.found = [next];
  queue.participantsChanged();
  expect([first, last].map(({ candidates: [one] }) => one)).toEqual([next, next]);
  expect([old.load.queued, next.load.queued]).toEqual([0, 2]);
});

describe("the count of those waiting", () => {
  test("rises for every candidate and is back at 0 when all have left", () => {
    const { queue, busy, add, free } = bench();
    const [a, b] = [busy("a"), busy("b")];
    const left = add("left", "x", [a, b]);
    add("goes", "y", [b]);
    expect([a.load.queued, b.load.queued]).toEqual([1, 2]);
    queue.remove(left);
    queue.remove(left);
    expect([a.load.queued, b.load.queued, queue.size]).toEqual([0, 1, 1]);
    free(b);
    expect([a.load.queued, b.load.queued, queue.size]).toEqual([0, 0, 0]);
  });
});

describe("a wake from inside", () => {
  test("lets the others go too, when the one that left frees its slot at once", () => {
    const { queue, left, busy, add } = bench();
    const a = busy("a");
    const failing = (name: string): QueueEntry => ({
      ...{ ...unchanging, address: name, selectionKey: "a", candidates: [a] },
      tryToLeave() {
        if (a.load.active >= a.load.limit) return false;
        left.push(name);
        queue.wake();
        return true;
      },
    });
    for (const name of ["1", "2", "3"]) queue.add(failing(name), false);
    add("4", "x", [a]);
    a.load.active = 0;
    queue.wake();
    expect(left).toEqual(["1", "2", "3", "4"]);
    expect(queue.size).toBe(0);
  });

  test("a bug in one entry does not end all waking", () => {
    const { queue, left, busy, add } = bench();
    const a = busy("a");
    const broken: QueueEntry = {
      ...{ ...unchanging, address: "x", selectionKey: "broken", candidates: [a] },
      tryToLeave() {
        throw new TypeError("bug");
      },
    };
    queue.add(broken, false);
    expect(() => queue.wake()).toThrow("bug");
    queue.remove(broken);
    add("next", "x", [a]);
    a.load.active = 0;
    queue.wake();
    expect(left).toEqual(["next"]);
  });

  test("does not lose a queue that was made while the old one emptied", () => {
    const queues = new RoomQueues(10);
    const a = aParticipant({ id: "a", active: 1, limit: 1 });
    const left: string[] = [];
    const follower = new Waiting("follower", "x", [a], left);
    queues.of("ABC234").add(
      {
        ...{ ...unchanging, address: "x", selectionKey: "first", candidates: [] },
        tryToLeave() {
          queues.of("ABC234").remove(this);
          queues.wake("ABC234");
          queues.of("ABC234").add(follower, false);
          return true;
        },
      },
      false,
    );
    queues.wake("ABC234");
    a.load.active = 0;
    queues.wake("ABC234");
    expect(left).toEqual(["follower"]);
  });

  test("a room with an empty queue is left alone", () => {
    expect(() => new RoomQueues(1).wake("ABC234")).not.toThrow();
  });
});

test("whatever comes, goes, fails and frees, no request waits while a candidate has capacity, and counts are true", () => {
  const step = record({
    fails: boolean(),
    isBatch: boolean(),
    kind: constantFrom("add" as const, "retry" as const, "remove" as const, "free" as const),
    client: constantFrom("x", "y", "z"),
    which: integer({ min: 0, max: 7 }),
  });
  assert(
    property(array(step, { maxLength: 60 }), (steps) => {
      const { queue, left, busy } = bench(10);
      const participants = [busy("a"), busy("b"), busy("c")];
      const waiting = new Set<Waiting>();
      for (const [index, { kind, client, which, fails, isBatch }] of steps.entries()) {
        const one = participants[which % 3] as Participant;
        const other = participants[(which >> 1) % 3] as Participant;
        if (kind === "free") {
          if (one.load.active > 0) one.load.active--;
          queue.wake();
        } else if (kind === "remove") {
          const entry = [...waiting][which];
          if (entry !== undefined) queue.remove(entry);
          if (entry !== undefined) waiting.delete(entry);
        } else if (kind === "retry" || !queue.isFullFor(isBatch)) {
          const candidates = [...new Set([one, other])];
          const entry = new Waiting(String(index), client, candidates, left, isBatch);
          if (fails)
            entry.onLeft = ({ load }) => {
              load.active--;
              queue.wake();
            };
          queue.add(entry, kind === "retry");
          waiting.add(entry);
          queue.wake();
        }
        for (const entry of waiting) if (left.includes(entry.name)) waiting.delete(entry);
        expect(queue.size).toBe(waiting.size);
        for (const candidate of participants) {
          const mine = [...waiting].filter((entry) => entry.candidates.includes(candidate));
          const { queued, batchQueued } = candidate.load;
          expect(queued + batchQueued).toBe(mine.length);
          if (candidate.load.active < candidate.load.limit) expect(mine).toEqual([]);
        }
      }
      for (const entry of waiting) queue.remove(entry);
      expect(participants.map((one) => one.load.queued)).toEqual([0, 0, 0]);
    }),
  );
});
