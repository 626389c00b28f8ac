import type { Limits } from "@roomhub/protocol";
import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { Machines, isFull } from "../domain/slots.ts";
import { modelChanged } from "../domain/room.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench } from "./dispatch.fixture.ts";

const messages = [{ role: "user", content: "x".repeat(9_980) }];

/** Two participants of one slot that compute 10 KB in a second each, and hold a slot for 3 s. */
function startRoom(limits: Partial<Limits> = {}) {
  const participants = ["ana", "ben"].map((id) => aParticipant({ id, limit: 1, model: "m" }));
  for (const {
    learned: { pace },
  } of participants) {
    for (const kilobytes of [1, 10]) {
      pace.noteFirst(
        "whole",
        { promptBytes: kilobytes * 1_000, coldBytes: kilobytes * 1_000 },
        kilobytes * 100,
        1_000,
      );
    }
    pace.noteSlot(3_000);
  }
  const bench = createBench(participants, limits);
  const send = (to: string | { model: string; session: string }) =>
    bench.send({
      ...(typeof to === "string" ? { model: "m", session: to } : to),
      fields: { messages },
    });
  return { ...bench, send, participants };
}

describe("a request whose prompt is warm at a participant that is at capacity", () => {
  /** The session's first request runs at ana, and has held its slot for this long. */
  function startBusy(heldMs: number, limits: Partial<Limits> = {}) {
    const room = startRoom(limits);
    room.send("s");
    const first = room.call();
    expect(first.participant.id).toBe("ana");
    room.pass(heldMs);
    return { ...room, first };
  }

  test("waits for it when that is sooner than to compute the prompt elsewhere", () => {
    const room = startBusy(2_500);
    const second = room.send("s");
    expect(room.calls).toHaveLength(1);
    expect(room.participants[0]!.load).toMatchObject({ awaited: 1, queued: 1 });
    room.first.respond(200, "{}");
    expect(room.call()).toMatchObject({ participant: { id: "ana" } });
    expect(second.ledger()).toEqual(["llm.request"]);
    expect(room.participants[0]!.load).toMatchObject({ awaited: 0, queued: 0, active: 1 });
  });

  test("is served elsewhere at once when its slot will be busy for longer", () => {
    const room = startBusy(500);
    room.send("s");
    expect(room.call().participant.id).toBe("ben");
  });

  test("waits no longer than computing the prompt elsewhere would have taken", () => {
    const room = startBusy(2_500);
    room.send("s");
    room.pass(990);
    expect(room.calls).toHaveLength(1);
    room.pass(20);
    expect(room.call().participant.id).toBe("ben");
    expect(room.participants[0]!.load).toMatchObject({ awaited: 0, queued: 0 });
  });

  test("holds up no other request for the same model", () => {
    const room = startBusy(2_500);
    room.send("s");
    room.send("other");
    expect(room.call().participant.id).toBe("ben");
  });

  test("still waits for it when others are routed again meanwhile, and others wait behind it", () => {
    const room = startBusy(2_500);
    room.send("s");
    room.participants[0]!.load.awaited++; // another one, behind it
    room.pass(100);
    room.queues.wake("ABC234");
    expect(room.calls).toHaveLength(1);
    expect(room.participants[0]!.load).toMatchObject({ awaited: 2, queued: 1 });
  });

  test("is served elsewhere at once when the queue is full", () => {
    const room = startBusy(2_500, { queuePerRoom: 0 });
    const second = room.send("s");
    expect(room.call().participant.id).toBe("ben");
    expect(second.client.error).toBeUndefined();
    expect(room.participants[0]!.load).toMatchObject({ awaited: 0, queued: 0 });
  });

  test("that is cancelled while it waits leaves nothing behind", () => {
    const room = startBusy(2_500);
    room.send("s").dispatch.onGone();
    expect(room.participants[0]!.load).toMatchObject({ awaited: 0, queued: 0, active: 1 });
  });
});

test("what requests show of a participant's speed is noted when they complete", () => {
  const room = startRoom();
  const [ana] = room.participants;
  room.send("s");
  room.pass(4_000);
  room.call().respond(200, "{}");
  expect(ana?.learned.pace.expectedFirstMs("whole", 10_000, 5_000)).toBeGreaterThan(1_500);
  expect(ana?.load.startedMs).toEqual([]);
});

test("a session goes to another participant for a while after a request failed at its own", () => {
  const { send, calls, call, pass } = startRoom();
  send({ model: "ana", session: "other" });
  const atAna = call();
  const servedBy = (status: number) => {
    const before = calls.length;
    send({ model: "*", session: "s" });
    if (status !== 200) call().respond(status, "{}");
    call().respond(200, "{}");
    return calls.slice(before).map(({ participant }) => participant.id);
  };
  expect(servedBy(200)).toEqual(["ben"]);
  atAna.respond(200, "{}");
  expect(servedBy(502)).toEqual(["ben", "ana"]);
  expect(servedBy(200)).toEqual(["ana"]);
  pass(5_000);
  expect(servedBy(200)).toEqual(["ben"]);
  // A server with too much to do is as one that is full, for 1 s.
  expect(servedBy(503)).toEqual(["ben", "ana"]);
  expect(servedBy(200)).toEqual(["ana"]);
  pass(1_000);
  expect(servedBy(200)).toEqual(["ben"]);
});

test("a session that a stand-in has is drawn anew once another participant is there", () => {
  const demo = aParticipant({ id: "demo", isStandIn: true });
  const [ana, ben] = ["ana", "ben"].map((id) => aParticipant({ id, status: "offline" }));
  const others = [ana, ben].filter((one) => one !== undefined);
  const bench = createBench([demo, ...others]);
  const served = () => {
    bench.send({ session: "s" });
    bench.call().respond(200, "{}");
    return bench.call().participant.id;
  };
  expect(served()).toBe("demo");
  for (const one of others) one.presence.status = "online";
  const first = served();
  expect(first).not.toBe("demo");
  expect(Array.from({ length: 8 }, served)).toEqual(Array.from({ length: 8 }, () => first));
});

test("what a request of the model before shows is not noted of the present one", () => {
  const { send, participants, pass, call, room } = startRoom();
  const [ana] = participants;
  send("s");
  modelChanged(room, ana!);
  pass(4_000);
  call().respond(200, "{}");
  expect(ana?.learned.pace.expectedFirstMs("whole", 10_000, 5_000)).toBeUndefined();
  expect(ana?.learned.pace.expectedSlotMs([5_000], 0, 5_000)).toBeUndefined();
});

test("cached tokens that a provider reports count instead of what was expected to be warm", () => {
  const room = startRoom();
  const [ana] = room.participants;
  for (let turn = 0; turn < 30; turn++) {
    room.send(`s${turn}`);
    const call = room.call();
    room.pass(100);
    const usage = { prompt_tokens: 2_500, completion_tokens: 1 };
    const details = { prompt_tokens_details: { cached_tokens: 2_250 } };
    call.respond(200, JSON.stringify({ usage: { ...usage, ...details } }));
    if (call.participant !== ana) throw new Error("ben should not be faster");
  }
  // A tenth of 10 KB was computed in 100 ms each time.
  expect(ana?.learned.pace.expectedFirstMs("whole", 10_000, 4_000)).toBeCloseTo(1_000, -2);
});

test("a request that loads the model shows how long loading takes, those that wait for it show nothing", () => {
  const room = startRoom();
  const [ana] = room.participants;
  ana!.learned.loadedModels = [];
  ana!.load.limit = 2;
  for (const session of ["s1", "s2"]) room.send({ model: "ana", session });
  room.pass(9_000);
  for (const call of room.calls) call.respond(200, "{}");
  expect(ana?.learned.pace.loadMs).toBeCloseTo(9_000, -3);
  expect(ana?.learned.pace.expectedFirstMs("whole", 10_000, 10_000)).toBeCloseTo(1_000, -1);
});

test("the end of a request wakes the rooms of its machine, which its participant may have left", () => {
  const machines = new Machines();
  const ana = aParticipant({ id: "ana" });
  const ben = aParticipant({ id: "ben", roomCode: "OTHER2" });
  for (const one of [ana, ben]) machines.assign(one, "00000000");
  const { send, call, queues } = createBench([ana]);
  const woken: string[] = [];
  queues.wake = (code) => void woken.push(code);
  send();
  machines.assign(ana, undefined);
  call().respond(200, "{}");
  expect(woken).toEqual(["OTHER2", "ABC234"]);
});

describe("whatever is sent, and however it ends", () => {
  const step = record({
    what: constantFrom("send", "send", "send", "respond", "fail", "leave", "sweep"),
    model: constantFrom("m", "m", "model:m", "*", "ana"),
    session: constantFrom(undefined, "s1", "s2"),
    index: integer({ min: 0, max: 100 }),
    ms: integer({ min: 1, max: 2_000 }),
  });

  /** Ana and ben share a machine of two slots; carl has one of his own. */
  function startShared() {
    const room = startRoom();
    const machines = new Machines();
    const [ana, ben] = room.participants;
    const carl = aParticipant({ id: "carl", limit: 1, model: "m" });
    const participants = [ana!, ben!, carl];
    const bench = createBench(participants);
    for (const one of [ana!, ben!]) {
      Object.assign(one.load, { limit: 2, limitFrom: "declared" });
      machines.assign(one, "00000000");
    }
    return { bench, participants, machine: ana!.load.machine! };
  }

  test("no slot is exceeded or leaked, machines are respected, and the interface's selectors hold", () => {
    assert(
      property(array(step, { maxLength: 60 }), (steps) => {
        const { bench, participants, machine } = startShared();
        const sent: ReturnType<typeof bench.send>[] = [];
        const open = new Set<(typeof bench.calls)[number]>();
        const close = (call: (typeof bench.calls)[number]) => {
          open.delete(call);
          if (call.cancelled === undefined) call.respond(200, "{}");
          else call.sink.onClosed();
        };
        for (const { what, model, session, index, ms } of steps) {
          const free = participants.filter((one) => !isFull(one));
          const callsBefore = bench.calls.length;
          const call = [...open][index % Math.max(1, open.size)];
          if (what === "send") {
            sent.push(bench.send({ model, session, fields: { messages } }));
            const [served, second] = bench.calls.slice(callsBefore);
            expect(second).toBeUndefined();
            if (served !== undefined) open.add(served);
            // Literal in the interface: the first by join order; any of the free.
            if (model === "model:m") expect(served?.participant).toBe(free[0]);
            if (model === "*") expect(served === undefined).toBe(free.length === 0);
            if (model === "ana") expect(served?.participant.id ?? "ana").toBe("ana");
          }
          if (what === "respond" && call !== undefined) close(call);
          if (what === "fail" && call?.cancelled === undefined) {
            call?.fail("tunnel_lost");
            if (call !== undefined) open.delete(call);
          }
          if (what === "leave") sent[index % Math.max(1, sent.length)]?.dispatch.onGone();
          if (what === "sweep") bench.pass(ms);
          for (const started of bench.calls.slice(callsBefore)) open.add(started);
          for (const {
            load: { active, limit, startedMs, awaited, queued },
          } of participants) {
            expect(active).toBeLessThanOrEqual(limit);
            expect(startedMs).toHaveLength(active);
            expect(Math.min(awaited, queued - awaited)).toBeGreaterThanOrEqual(0);
          }
          expect(machine.active).toBeLessThanOrEqual(machine.limit);
        }
        for (const { dispatch } of sent) dispatch.onGone();
        for (const call of open) close(call);
        for (const {
          load: { active, queued, awaited },
        } of [...participants]) {
          expect([active, queued, awaited]).toEqual([0, 0, 0]);
        }
        expect([machine.active, machine.startedMs, bench.inFlight.size]).toEqual([0, [], 0]);
        expect(sent.map(({ settledCount }) => settledCount())).toEqual(sent.map(() => 1));
      }),
    );
  });
});
