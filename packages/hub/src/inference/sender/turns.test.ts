import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { Turns, type TurnTaker } from "./turns.ts";

interface Waiting extends TurnTaker {
  name: string;
}

/** One resource with some slots. */
function createBench(slots: number) {
  const turns = new Turns<Waiting>();
  const running: Waiting[] = [];
  const started: Waiting[] = [];
  const waiting = new Set<Waiting>();
  const start = (entry: Waiting) => {
    if (running.length >= slots) return false;
    running.push(entry);
    started.push(entry);
    waiting.delete(entry);
    return true;
  };
  const wake = () => {
    while (turns.letOneRoundGo(start));
  };
  return {
    turns,
    running,
    waiting,
    started,
    names: () => started.map(({ name }) => name),
    send(name: string, address: string, person = ""): Waiting {
      const entry = { name, address, person };
      if (waiting.size === 0 && start(entry)) return entry;
      waiting.add(entry);
      turns.add(entry, running);
      wake();
      return entry;
    },
    /** The request that has run longest, or the one at this place, is complete. */
    complete(index = 0): void {
      running.splice(index % Math.max(1, running.length), 1);
      wake();
    },
  };
}

describe.each([1, 2, 5])("with %i slots", (slots) => {
  test.each([1, 50])(
    "one request starts after at most one completion per slot, behind 50 of another address under %i names",
    (nameCount) => {
      assert(
        property(
          integer({ min: 0, max: 45 }),
          array(integer({ min: 0, max: 4 })),
          (before, order) => {
            const bench = createBench(slots);
            for (let index = 0; index < 50; index++) {
              bench.send(`a${index}`, "a", `name ${index % nameCount}`);
            }
            for (let count = 0; count < before; count++) bench.complete(order[count] ?? 0);
            const b = bench.send("b", "b");
            for (let count = 0; count < slots; count++) bench.complete(order[count] ?? 0);
            expect(bench.started).toContain(b);
          },
        ),
      );
    },
  );

  test("an address that sends its next request after each response takes every second turn", () => {
    const bench = createBench(slots);
    for (let index = 0; index < 40; index++) bench.send("a", "a");
    const keepSending = () => {
      const under = [...bench.waiting, ...bench.running].filter(({ name }) => name === "b");
      for (let count = under.length; count < slots; count++) bench.send("b", "b");
    };
    for (let index = 0; index < 20; index++) {
      keepSending();
      bench.complete();
    }
    const share = bench.names().filter((name) => name === "b").length;
    expect(share).toBeGreaterThanOrEqual(8);
    expect(share).toBeLessThanOrEqual(12);
  });
});

test("between persons at one address turns are taken, too", () => {
  const bench = createBench(1);
  bench.send("x0", "a", "x");
  for (const name of ["x1", "x2", "x3"]) bench.send(name, "a", "x");
  bench.send("y1", "a", "y");
  bench.send("y2", "a", "y");
  for (let count = 0; count < 5; count++) bench.complete();
  expect(bench.names()).toEqual(["x0", "y1", "x1", "y2", "x2", "x3"]);
});

test("newcomers without end do not keep the one who waits from its turn", () => {
  const bench = createBench(1);
  for (const name of ["a0", "a1", "a2"]) bench.send(name, "a");
  for (let index = 0; index < 40; index++) {
    bench.send(`n${index}`, `new ${index}`);
    bench.send(`m${index}`, `new too ${index}`);
    bench.complete();
  }
  expect(bench.names()).toContain("a1");
});

test("requests that had their turn before are ahead of all, in the order in which they came back", () => {
  const bench = createBench(1);
  for (const name of ["a0", "a1"]) bench.send(name, "a");
  bench.send("b1", "b");
  for (const name of ["retried", "retried too"])
    bench.turns.addFirst({ name, address: "a", person: "" });
  for (let count = 0; count < 4; count++) bench.complete();
  expect(bench.names()).toEqual(["a0", "retried", "retried too", "b1", "a1"]);
});

test("an address that goes and comes back does not gain a turn", () => {
  const bench = createBench(1);
  bench.send("b0", "b");
  bench.send("a1", "a");
  bench.send("c1", "c");
  bench.complete();
  // Had its turn: a1 runs. It waits once more, leaves, and comes back.
  bench.turns.remove(bench.send("a2", "a"));
  bench.send("a3", "a");
  bench.send("c2", "c");
  for (let count = 0; count < 3; count++) bench.complete();
  expect(bench.names()).toEqual(["b0", "a1", "c1", "a3", "c2"]);
});

test("whatever comes and goes, all that wait start in the end, in the predicted order, each once, and an address's own in order of its persons", () => {
  const step = record({
    kind: constantFrom("send" as const, "send" as const, "complete" as const, "remove" as const),
    address: constantFrom("a", "b", "c"),
    person: constantFrom("x", "y"),
    which: integer({ min: 0, max: 9 }),
  });
  assert(
    property(integer({ min: 1, max: 3 }), array(step, { maxLength: 80 }), (slots, steps) => {
      const bench = createBench(slots);
      const removed = new Set<Waiting>();
      const sent: Waiting[] = [];
      for (const { kind, address, person, which } of steps) {
        if (kind === "send") sent.push(bench.send(`${sent.length}`, address, person));
        else if (kind === "complete") bench.complete(which);
        else {
          const entry = [...bench.waiting][which];
          if (entry === undefined) continue;
          expect(bench.turns.remove(entry)).toBe(true);
          expect(bench.turns.remove(entry)).toBe(false);
          bench.waiting.delete(entry);
          removed.add(entry);
        }
      }
      const [expected, before] = [bench.turns.inOrder(), bench.started.length];
      expect(new Set(expected)).toEqual(bench.waiting);
      for (let left = sent.length; left > 0; left--) bench.complete();
      expect(bench.started.slice(before)).toEqual(expected);
      expect(new Set(bench.started)).toEqual(new Set(sent.filter((one) => !removed.has(one))));
      expect(bench.started).toHaveLength(sent.length - removed.size);
      for (const address of ["a", "b", "c"]) {
        for (const person of ["x", "y"]) {
          const own = bench.started.filter(
            (one) => one.address === address && one.person === person,
          );
          expect(own).toEqual(sent.filter((one) => own.includes(one)));
        }
      }
    }),
  );
});
