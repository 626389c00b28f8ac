import { describe, expect, test } from "vitest";
import { AliasTable } from "../domain/aliases/alias-table.ts";
import type { Participant } from "../domain/participant.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench } from "./dispatch.fixture.ts";

const json = '{"object":"chat.completion","choices":[]}';

function startRoom(targets: string[], ...participants: Participant[]) {
  const bench = createBench(participants);
  bench.room.aliases = new AliasTable([{ pattern: "claude-*", targets, createdAt: 0 }]);
  return {
    ...bench,
    send: (model = "claude-opus") => bench.send({ model }),
    called: () => bench.calls.map((call) => call.participant.id),
    wake: () => bench.queues.wake("ABC234"),
  };
}

const coder = (id: string) => aParticipant({ id, model: "coder", limit: 1 });
const big = (id: string) => aParticipant({ id, model: "big", limit: 1 });

describe("a request through an alias", () => {
  test("is sent with the model of the participant, and its events name the alias", () => {
    const room = startRoom(["coder"], coder("ana"));
    const sent = room.send();
    expect(room.call().body).toContain('"model":"coder"');
    room.call().respond(200, json);
    const named = { selector: "claude-opus", alias: "claude-*", model: "coder" };
    expect(room.events).toMatchObject([
      { name: "llm.request", ...named },
      { name: "llm.complete", ...named },
    ]);
    expect(sent.client.headers["x-roomhub-model"]).toBe("coder");
  });

  test("waits at its first target while that is full, although the next one is free", () => {
    const room = startRoom(["coder", "big"], coder("ana"), big("bob"));
    room.send();
    const first = room.call();
    room.send();
    expect(room.called()).toEqual(["ana"]);
    first.respond(200, json);
    expect(room.called()).toEqual(["ana", "ana"]);
  });

  test("leaves the queue for the next target when the first goes offline", () => {
    const room = startRoom(["coder", "big"], coder("ana"), big("bob"));
    room.send();
    const second = room.send();
    const [ana, bob] = room.room.participants.values();
    if (ana !== undefined) ana.status = "offline";
    room.wake();
    expect(room.called()).toEqual(["ana", "bob"]);
    expect(second.ledger()).toEqual(["llm.request"]);
    expect([ana?.queued, bob?.queued]).toEqual([0, 0]);
  });

  test("that waits goes on waiting at the next target, with the deadline that it had", () => {
    const room = startRoom(["coder", "big"], coder("ana"), big("bob"));
    room.send("big");
    room.send();
    const waiting = room.send();
    room.pass(40_000);
    const [ana, bob] = room.room.participants.values();
    if (ana !== undefined) ana.status = "offline";
    room.wake();
    expect([ana?.queued, bob?.queued]).toEqual([0, 1]);
    room.pass(20_001);
    expect(waiting.ending()).toMatchObject({
      name: "llm.error",
      code: "queue_timeout",
      queueMs: 60_001,
      alias: "claude-*",
    });
    expect(bob?.queued).toBe(0);
  });

  test("is refused with a participant's reason when no target can take it", () => {
    const ana = aParticipant({ id: "ana", model: "coder", status: "offline" });
    const room = startRoom(["nothing", "coder"], ana);
    expect(room.send().ending()).toMatchObject({
      name: "llm.error",
      code: "participant_offline",
      selector: "claude-opus",
      alias: "claude-*",
      participantId: null,
      model: "claude-opus",
    });
  });
});

describe("a retry of a request through an alias", () => {
  test("stays inside the target, then takes the next one", () => {
    const room = startRoom(["coder", "*"], coder("ana"), big("bob"), coder("cy"));
    const sent = room.send();
    room.call().fail("tunnel_lost");
    expect(room.called()).toEqual(["ana", "cy"]);
    room.call().fail("tunnel_lost");
    expect(room.called()).toEqual(["ana", "cy", "bob"]);
    room.call().respond(200, json);
    expect(sent.ledger()).toEqual(["llm.request", "llm.request", "llm.request", "llm.complete"]);
  });

  test("leaves a target that is an id, while others follow", () => {
    const room = startRoom(["ana", "bob"], coder("ana"), coder("bob"));
    const sent = room.send();
    room.call().fail("tunnel_lost");
    expect(room.called()).toEqual(["ana", "bob"]);
    room.call().fail("tunnel_lost");
    expect(room.called()).toEqual(["ana", "bob"]);
    expect(sent.ending()).toMatchObject({ code: "tunnel_lost", participantId: "bob" });
  });

  test("after a 429 is made at the next target only while that is ready", () => {
    const room = startRoom(["coder", "big"], coder("ana"), big("bob"));
    const sent = room.send();
    room.call().respond(429, json);
    expect(room.called()).toEqual(["ana", "bob"]);
    room.call().respond(200, json);
    expect(sent.client.status).toBe(200);

    room.send("big");
    const refused = room.send();
    room.call().respond(429, json);
    expect(refused.client.status).toBe(429);
    expect(room.called()).toEqual(["ana", "bob", "bob", "ana"]);
  });
});

test("requests that are at different targets of one alias do not hold each other up", () => {
  const room = startRoom(["coder", "big"], coder("ana"), big("bob"));
  room.send("big");
  const [ana] = room.room.participants.values();
  if (ana === undefined) throw new Error("there is no ana");
  ana.status = "offline";
  const atBob = room.send();
  ana.status = "online";
  room.send("coder");
  const atAna = room.send();
  const runningAtAna = room.call();
  // What waits for bob comes first, and cannot go.
  runningAtAna.respond(200, json);
  expect(atAna.ledger()).toEqual(["llm.request"]);
  expect(atBob.ledger()).toEqual([]);
});
