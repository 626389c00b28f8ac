import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AliasTable } from "../domain/aliases/alias-table.ts";
import { readModelField } from "../domain/aliases/model-field.ts";
import type { Participant } from "../domain/participant.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { matching } from "../domain/selector.ts";
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
    if (ana !== undefined) ana.presence.status = "offline";
    room.wake();
    expect(room.called()).toEqual(["ana", "bob"]);
    expect(second.ledger()).toEqual(["llm.request"]);
    expect([ana?.load.queued, bob?.load.queued]).toEqual([0, 0]);
  });

  test("that waits goes on waiting at the next target, with the deadline that it had", () => {
    const room = startRoom(["coder", "big"], coder("ana"), big("bob"));
    room.send("big");
    room.send();
    const waiting = room.send();
    room.pass(40_000);
    const [ana, bob] = room.room.participants.values();
    if (ana !== undefined) ana.presence.status = "offline";
    room.wake();
    expect([ana?.load.queued, bob?.load.queued]).toEqual([0, 1]);
    room.pass(20_001);
    expect(waiting.ending()).toMatchObject({
      name: "llm.error",
      code: "queue_timeout",
      queueMs: 60_001,
      alias: "claude-*",
    });
    expect(bob?.load.queued).toBe(0);
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

  test("that waits is counted at the target where it waits", () => {
    const room = startRoom(["coder", "big"], coder("ana"), coder("cy"), big("bob"));
    room.send();
    const first = room.call();
    for (const model of ["coder", "big"]) room.send(model);
    const [, cy, bob] = room.room.participants.values();
    first.fail("tunnel_lost");
    expect([cy?.load.queued, bob?.load.queued]).toEqual([1, 0]);
    if (cy !== undefined) cy.presence.status = "offline";
    room.wake();
    expect([cy?.load.queued, bob?.load.queued]).toEqual([0, 1]);
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
  ana.presence.status = "offline";
  const atBob = room.send();
  ana.presence.status = "online";
  room.send("coder");
  const atAna = room.send();
  const runningAtAna = room.call();
  // What waits for bob comes first, and cannot go.
  runningAtAna.respond(200, json);
  expect(atAna.ledger()).toEqual(["llm.request"]);
  expect(atBob.ledger()).toEqual([]);
});

describe("whatever happens to participants and requests", () => {
  const ids = ["ana", "bob", "cy", "dee"];
  const models = ["coder", "big", "coder", "small"];
  const names = fc.constantFrom(
    "coder",
    "big",
    "model:small",
    "ana",
    "cy",
    "nothing",
    "*",
    "gpt-*",
  );
  const participant = fc.nat({ max: ids.length - 1 });
  const actions = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("send" as const),
        model: fc.constantFrom("claude-1", "claude-2", "gpt-5"),
      }),
    },
    fc.record({ kind: fc.constant("respond" as const), at: fc.nat() }),
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("fail" as const), at: fc.nat() }) },
    fc.record({ kind: fc.constant("refuse" as const), at: fc.nat() }),
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("toggle" as const), participant }) },
    fc.record({ kind: fc.constant("pass" as const), ms: fc.nat({ max: 20_000 }) }),
  );

  test("a request ends once, goes through its targets in their order, and leaves nothing behind", () => {
    fc.assert(
      fc.property(
        fc.array(names, { minLength: 2, maxLength: 4 }),
        fc.array(fc.constantFrom("big", "small", "dee"), { minLength: 1, maxLength: 2 }),
        fc.array(actions, { minLength: 30, maxLength: 80 }),
        (targets, others, steps) => {
          const room = startRoom(
            targets,
            ...ids.map((id, index) => aParticipant({ id, model: models[index] ?? "", limit: 1 })),
          );
          room.room.aliases = room.room.aliases.with({
            pattern: "gpt-*",
            targets: others,
            createdAt: 1,
          });
          const all = [...room.room.participants.values()];
          const running = new Set(room.calls);
          const noteCalls = () => {
            for (const call of room.calls.slice(noted)) running.add(call);
            noted = room.calls.length;
          };
          let noted = 0;
          const take = (at: number) => {
            noteCalls();
            for (const call of running) if (call.cancelled !== undefined) running.delete(call);
            const call = [...running][at % Math.max(1, running.size)];
            if (call !== undefined) running.delete(call);
            return call;
          };
          const sent: ReturnType<typeof room.send>[] = [];
          for (const step of steps) {
            if (step.kind === "send") sent.push(room.send(step.model));
            if (step.kind === "respond") take(step.at)?.respond(200, json);
            if (step.kind === "fail") take(step.at)?.fail("tunnel_lost");
            if (step.kind === "refuse") take(step.at)?.respond(429, json);
            if (step.kind === "pass") room.pass(step.ms);
            if (step.kind === "toggle") {
              const one = all[step.participant];
              if (one !== undefined)
                one.presence.status = one.presence.status === "online" ? "offline" : "online";
              room.wake();
            }
          }
          for (let call = take(0); call !== undefined; call = take(0)) call.respond(200, json);
          room.pass(60_001);
          expect(room.bugs).toEqual([]);
          for (const one of sent) {
            expect(one.settledCount()).toBe(1);
            expect(one.ledger().filter((name) => name !== "llm.request")).toHaveLength(1);
          }
          expect(all.map(({ load: { queued, awaited } }) => [queued, awaited])).toEqual(
            all.map(() => [0, 0]),
          );
          for (const { requestId } of room.events.filter(({ name }) => name === "llm.request")) {
            const own = room.events.filter((event) => event.requestId === requestId);
            const tried = own.flatMap((event) =>
              event.name === "llm.request" ? [event.participantId] : [],
            );
            expect(new Set(tried).size).toBe(tried.length);
            const { targets: ordered } = readModelField(room.room, own[0]?.selector ?? "");
            let from = 0;
            for (const id of tried) {
              from = ordered.findIndex(
                (target, at) => at >= from && matching(all, target).some((one) => one.id === id),
              );
              expect(from, `${requestId} at ${tried.join()}`).toBeGreaterThanOrEqual(0);
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
