import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import type { Participant } from "../domain/participant.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench, type Sent } from "./dispatch.fixture.ts";

const flex = { fields: { service_tier: "flex" } };
const minute = 60_000;

type Bench = ReturnType<typeof createBench>;

function hasStarted(sent: Sent): boolean {
  return sent.ledger().includes("llm.request");
}

/** Runs one interactive request to its end: from now on slots are kept for the next one. */
function beInteractive(bench: Bench): void {
  bench.send();
  bench.call().respond(200, "{}");
}

/** How many requests of a batch run when many wait. */
function runningOf(participants: Participant[], prepare: (bench: Bench) => void): number {
  const bench = createBench(participants);
  prepare(bench);
  for (let count = 0; count < 32; count++) bench.send(flex);
  return participants.reduce((sum, { load }) => sum + load.batch, 0);
}

describe("a request is one of a batch", () => {
  test.each<[string, Parameters<Bench["send"]>[0], boolean]>([
    ["with service_tier flex", flex, true],
    ["with any other service_tier", { fields: { service_tier: "auto" } }, false],
    ["with the header batch", { priority: "batch" }, true],
    [
      "whose header says interactive, whatever its body says",
      { ...flex, priority: "interactive" },
      false,
    ],
  ])("%s: %s", (_title, options, isBatch) => {
    const ana = aParticipant({ id: "ana" });
    const bench = createBench([ana]);
    bench.send(options);
    expect(ana.load).toMatchObject({ active: 1, batch: isBatch ? 1 : 0 });
    expect(bench.events[0]?.priority).toBe(isBatch ? "batch" : undefined);
  });

  test("and its body reaches the provider unchanged", () => {
    const bench = createBench([aParticipant({ id: "ana", model: "llama" })]);
    bench.send({ ...flex, model: "llama" });
    expect(JSON.parse(bench.call().body)).toMatchObject({ service_tier: "flex" });
  });

  test("not with another value of the header", () => {
    const bench = createBench([aParticipant({ id: "ana" })]);
    expect(() => bench.send({ priority: "low" })).toThrow(
      "x-roomhub-priority has an unknown value",
    );
  });
});

describe("while nothing interactive runs", () => {
  test("a batch takes every slot", () => {
    const participants = [aParticipant({ id: "a", limit: 4 }), aParticipant({ id: "b", limit: 1 })];
    expect(runningOf(participants, () => undefined)).toBe(5);
  });

  test("an interactive request gets the next free slot, before all that wait of a batch", () => {
    const bench = createBench([aParticipant({ id: "ana", limit: 1 })]);
    bench.send(flex);
    const waiting = bench.send(flex);
    const interactive = bench.send();
    bench.call().respond(200, "{}");
    expect([hasStarted(interactive), hasStarted(waiting)]).toEqual([true, false]);
  });
});

describe("for five minutes after an interactive request", () => {
  test.each([
    [1, 0],
    [2, 1],
    [7, 6],
    [8, 4],
    [9, 4],
  ])("of %i slots of a model, a batch takes %i", (limit, most) => {
    expect(runningOf([aParticipant({ id: "ana", limit })], beInteractive)).toBe(most);
  });

  test("the slots of all participants with the same model count together", () => {
    const model = "llama";
    const two = ["a", "b"].map((id) => aParticipant({ id, model, limit: 1 }));
    expect(runningOf(two, beInteractive)).toBe(1);
  });

  test("each model keeps a slot", () => {
    const two = ["a", "b"].map((id) => aParticipant({ id, model: id, limit: 2 }));
    expect(runningOf(two, beInteractive)).toBe(2);
  });

  test("a batch waits, and takes the slots when the time is over", () => {
    const bench = createBench([aParticipant({ id: "ana", limit: 1 })]);
    beInteractive(bench);
    const waiting = bench.send(flex);
    bench.pass(5 * minute - 1_000);
    expect(hasStarted(waiting)).toBe(false);
    bench.pass(1_000);
    expect(hasStarted(waiting)).toBe(true);
  });

  test("the time begins when the last interactive request has ended", () => {
    const bench = createBench(
      [aParticipant({ id: "ana", limit: 2 }), aParticipant({ id: "bob" })],
      {
        firstByteMs: 60 * minute,
      },
    );
    bench.send({ model: "ana" });
    bench.pass(6 * minute);
    const waiting = bench.send({ ...flex, model: "ana" });
    const next = bench.send({ ...flex, model: "ana" });
    expect([hasStarted(waiting), hasStarted(next)]).toEqual([true, false]);
  });
});

describe("a participant that serves no batches", () => {
  test("gets none, and its slot is the one that is kept", () => {
    const model = "llama";
    const ana = aParticipant({ id: "ana", model, limit: 1, batches: false });
    const bob = aParticipant({ id: "bob", model, limit: 1 });
    expect(runningOf([ana, bob], beInteractive)).toBe(1);
    expect(ana.load.batch).toBe(0);
  });

  test("alone: the batch is refused", () => {
    const bench = createBench([aParticipant({ id: "ana", batches: false })]);
    const refused = bench.send(flex);
    expect(refused.client.error).toMatchObject({ code: "batch_refused", status: 503 });
    expect(refused.client.error?.message).toBe("ana serves no requests of batches.");
    expect(bench.send().client.error).toBeUndefined();
  });

  test("at this hour: the batch waits", () => {
    const hour = 3_600_000;
    const night = { hours: "1-2", timeZone: "UTC" };
    const bench = createBench([aParticipant({ id: "ana", batches: night })], {
      batchWaitMs: 2 * hour,
      requestMs: 3 * hour,
    });
    const waiting = bench.send(flex);
    bench.pass(hour - 2_000);
    expect(waiting.ledger()).toEqual([]);
    bench.pass(1_000);
    expect(waiting.ledger()).toEqual(["llm.request"]);
  });
});

test("a batch has a queue of its own, which leaves the other one its places", () => {
  const bench = createBench([aParticipant({ id: "ana", limit: 1 })], { queuePerRoom: 1 });
  const [, waits, refused] = [bench.send(flex), bench.send(flex), bench.send(flex)];
  expect(refused?.client.error?.code).toBe("queue_full");
  expect(waits?.client.error).toBeUndefined();
  expect(bench.send().client.error).toBeUndefined();
});

test("a request of a batch waits for ten minutes, then its client is to try again later", () => {
  const bench = createBench([aParticipant({ id: "ana", limit: 1 })], { firstByteMs: 60 * minute });
  bench.send();
  const waiting = bench.send(flex);
  bench.pass(10 * minute);
  expect(waiting.client.error).toBeUndefined();
  bench.pass(1);
  expect(waiting.client.error).toMatchObject({ code: "batch_timeout", status: 429 });
});

test("a running request of a batch is never ended for another one", () => {
  const bench = createBench([aParticipant({ id: "ana", limit: 1 })]);
  const batch = bench.send(flex);
  bench.send();
  bench.pass(minute - 1);
  bench.call().respond(200, "{}");
  expect(batch.ledger()).toEqual(["llm.request", "llm.complete"]);
});

test("in any order, a batch takes no slot that an interactive request waits for, and in the end no slot is taken", () => {
  const step = record({
    does: constantFrom("interactive", "batch", "end", "time"),
    at: integer({ min: 0, max: 9 }),
  });
  assert(
    property(array(step, { maxLength: 40 }), integer({ min: 1, max: 9 }), (steps, limit) => {
      const both = [
        aParticipant({ id: "ana", model: "llama", limit }),
        aParticipant({ id: "bob", model: "llama", limit: 1 }),
      ];
      const bench = createBench(both, { firstByteMs: 60 * minute, queueWaitMs: 60 * minute });
      const selectors = ["*", "llama", "model:llama", "bob"];
      let ended = 0;
      for (const { does, at } of steps) {
        const model = selectors[at % selectors.length] ?? "*";
        if (does === "interactive") bench.send({ model });
        else if (does === "time") bench.pass(at * minute);
        else if (does === "end") {
          if (ended < bench.calls.length) bench.calls[ended++]?.respond(200, "{}");
        } else if (hasStarted(bench.send({ ...flex, model }))) {
          expect(bench.calls.at(-1)?.participant.load.queued).toBe(0);
        }
        for (const { load } of both) expect(load.batch).toBeLessThanOrEqual(load.active);
      }
      for (; ended < bench.calls.length; bench.pass(1)) bench.calls[ended++]?.respond(200, "{}");
      bench.pass(11 * minute);
      for (; ended < bench.calls.length; bench.pass(1)) bench.calls[ended++]?.respond(200, "{}");
      for (const { load } of both) {
        expect([load.active, load.batch, load.queued, load.batchQueued]).toEqual([0, 0, 0, 0]);
      }
    }),
  );
});
