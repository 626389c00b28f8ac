import { array, assert, boolean, constantFrom, integer, property, record } from "fast-check";
import { expect, test } from "vitest";
import { Machines } from "../domain/slots.ts";
import type { Participant } from "../domain/participant.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench, type FakeCall } from "./dispatch.fixture.ts";

/** How often deadlines are looked at here. */
const sweepMs = 20;

const step = record({
  what: constantFrom("send", "send", "send", "respond", "respond", "fail", "leave", "pass"),
  model: constantFrom("m", "m", "*", "any", "model:m", "ana"),
  session: constantFrom(undefined, "s1", "s2"),
  isStream: boolean(),
  kilobytes: constantFrom(1, 4, 10),
  index: integer({ min: 0, max: 100 }),
  ms: integer({ min: 1, max: 1_500 }),
});

/** Ana and ben are two agents in front of one model server, with a slot each; carl has a server of his own. */
function startRoom() {
  const participants = ["ana", "ben", "carl"].map((id) =>
    aParticipant({ id, agentId: `agent of ${id}`, limit: 1, model: "m" }),
  );
  for (const {
    learned: { pace },
  } of participants) {
    for (const form of ["stream", "whole"] as const) {
      for (const bytes of [1_000, 10_000]) {
        pace.noteFirst(form, { promptBytes: bytes, coldBytes: bytes }, bytes / 10, 1_000);
      }
    }
    pace.noteSlot(3_000);
  }
  const machines = new Machines();
  for (const one of participants.slice(0, 2)) machines.assign(one, "00000000");
  return { bench: createBench(participants), participants };
}

/** A request that was sent, and for how long each participant could have served it. */
interface Wait {
  sent: ReturnType<ReturnType<typeof createBench>["send"]>;
  isStream: boolean;
  hasStarted: boolean;
  mayUse: (participant: Participant) => boolean;
  /** what computing its prompt takes there, at most */
  costMs: (participant: Participant) => number;
  freeForMs: Map<Participant, number>;
}

function finish(call: FakeCall, isStream: boolean): void {
  if (call.cancelled !== undefined) return call.sink.onClosed();
  if (!isStream) return call.respond(200, "{}");
  call.head();
  call.data('data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n');
  call.data("data: [DONE]\n\n");
  call.end();
}

test("no request waits longer than 50 ms and the cost of its prompt beside a participant with a free slot", () => {
  assert(
    property(array(step, { maxLength: 50 }), (steps) => {
      const { bench, participants } = startRoom();
      const waits: Wait[] = [];
      const open = new Map<FakeCall, Wait>();
      let nowMs = 1_000;
      let seen = 0;

      function noteCalls(): void {
        for (; seen < bench.calls.length; seen++) {
          const call = bench.calls[seen]!;
          const wait = waits[(JSON.parse(call.body) as { seed: number }).seed]!;
          wait.hasStarted = true;
          open.set(call, wait);
        }
      }

      function pass(ms: number): void {
        nowMs += ms;
        bench.pass(ms);
        noteCalls();
        for (const wait of waits) {
          if (wait.hasStarted || wait.sent.settledCount() > 0) continue;
          for (const one of participants) {
            const isFree = one.load.active < one.load.limit && wait.mayUse(one);
            const freeForMs = isFree ? (wait.freeForMs.get(one) ?? 0) + ms : 0;
            wait.freeForMs.set(one, freeForMs);
            expect(freeForMs).toBeLessThanOrEqual(50 + wait.costMs(one));
          }
        }
      }

      for (const { what, model, session, isStream, kilobytes, index, ms } of steps) {
        const call = [...open.keys()][index % Math.max(1, open.size)];
        if (what === "send") {
          const content = "x".repeat(kilobytes * 1_000);
          const fields = { seed: waits.length, messages: [{ role: "user", content }] };
          const costs = new Map<Participant, number>();
          waits.push({
            sent: bench.send({ model, stream: isStream, fields, ...(session && { session }) }),
            isStream,
            hasStarted: false,
            mayUse: ({ id }) => model !== "ana" || id === "ana",
            costMs(one) {
              const form = isStream ? "stream" : "whole";
              const ownMs =
                one.learned.pace.expectedFirstMs(form, content.length + 200, nowMs) ?? 0;
              const mostMs = Math.max(ownMs, costs.get(one) ?? 0);
              costs.set(one, mostMs);
              return mostMs;
            },
            freeForMs: new Map(),
          });
        }
        if (what === "respond" && call !== undefined) {
          const wait = open.get(call)!;
          open.delete(call);
          finish(call, wait.isStream);
        }
        if (what === "fail" && call?.cancelled === undefined) {
          call?.fail("tunnel_lost");
          if (call !== undefined) open.delete(call);
        }
        if (what === "leave") waits[index % Math.max(1, waits.length)]?.sent.dispatch.onGone();
        noteCalls();
        if (what === "pass") for (let left = ms; left > 0; left -= sweepMs) pass(sweepMs);
      }
      expect(bench.bugs).toEqual([]);
    }),
  );
});
