import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench } from "./dispatch.fixture.ts";

const messages = [{ role: "user", content: "x".repeat(9_980) }];

/** Two participants of one slot that compute 10 KB in a second each, and hold a slot for 3 s. */
function startRoom() {
  const participants = ["ana", "ben"].map((id) => aParticipant({ id, limit: 1, model: "m" }));
  for (const { pace } of participants) {
    for (const kilobytes of [1, 10]) {
      pace.noteFirst("whole", kilobytes * 1_000, kilobytes * 100, 1_000);
    }
    pace.noteSlot(3_000);
  }
  const bench = createBench(participants);
  const send = (session: string) => bench.send({ model: "m", session, fields: { messages } });
  return { ...bench, send, participants };
}

describe("a request whose prompt is warm at a participant that is at capacity", () => {
  /** The session's first request runs at ana, and has held its slot for this long. */
  function startBusy(heldMs: number) {
    const room = startRoom();
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
    expect(room.participants[0]).toMatchObject({ awaited: 1, queued: 1 });
    room.first.respond(200, "{}");
    expect(room.call()).toMatchObject({ participant: { id: "ana" } });
    expect(second.ledger()).toEqual(["llm.request"]);
    expect(room.participants[0]).toMatchObject({ awaited: 0, queued: 0, active: 1 });
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
    expect(room.participants[0]).toMatchObject({ awaited: 0, queued: 0 });
  });

  test("holds up no other request for the same model", () => {
    const room = startBusy(2_500);
    room.send("s");
    room.send("other");
    expect(room.call().participant.id).toBe("ben");
  });

  test("that is cancelled while it waits leaves nothing behind", () => {
    const room = startBusy(2_500);
    room.send("s").dispatch.onGone();
    expect(room.participants[0]).toMatchObject({ awaited: 0, queued: 0, active: 1 });
  });
});

test("what requests show of a participant's speed is noted when they complete", () => {
  const room = startRoom();
  const [ana] = room.participants;
  room.send("s");
  room.pass(4_000);
  room.call().respond(200, "{}");
  expect(ana?.pace.expectedFirstMs("whole", 10_000, 5_000)).toBeGreaterThan(1_500);
  expect(ana?.startedMs).toEqual([]);
});
