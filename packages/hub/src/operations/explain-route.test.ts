import type { InferenceProtocol, RouteExplanation } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { occupySlot } from "../domain/slots.ts";
import { explainRoute } from "./explain-route.ts";
import { createOffice, home } from "./operations.fixture.ts";

interface Asked {
  model?: string;
  protocol?: InferenceProtocol;
  session?: string;
  waiting?: number;
}

/** A room with ana and bob, who serve llama3, and carl, who serves qwen under an id that is bob's model. */
async function lab() {
  const office = createOffice({ limits: { queuePerRoom: 3 } });
  const config = { maxConcurrency: 2 };
  const ana = (await office.join({ id: "ana", model: "llama3", config })).participant;
  const bob = (await office.join({ id: "bob", model: "llama3:latest", config })).participant;
  const carl = (await office.join({ id: "carl", model: "qwen", config })).participant;
  const ask = ({
    model = "llama3",
    protocol = "chatCompletions",
    session,
    waiting = 0,
  }: Asked = {}) =>
    explainRoute(office.context, office.room, {
      model,
      protocol,
      session,
      promptBytes: 4_000,
      requires: 0,
      waiting,
    });
  return { office, ana, bob, carl, ask };
}

function verdicts({ participants }: RouteExplanation): string[] {
  return participants.map(({ id, verdict, reason }) => `${id} ${verdict}: ${reason}`);
}

describe("a model's name", () => {
  test("goes to the exact name first, then to those without a tag, and moves on once", async () => {
    const { ask } = await lab();
    const told = ask();
    expect(told).toMatchObject({ readAs: "model", outcome: "asked", model: "llama3" });
    expect(verdicts(told)).toEqual([
      "ana asked: serves llama3",
      "bob next: takes over if ana fails before it responds",
      "carl passed-over: serves qwen",
    ]);
    expect(told.onFailure).toEqual({
      movesTo: "bob",
      reason: "it moves to bob while no response has begun",
    });
  });

  test("skips a participant at capacity while another has room", async () => {
    const { ana, ask } = await lab();
    ana.load.active = 2;
    expect(verdicts(ask()).slice(0, 2)).toEqual([
      "ana full: 2 of 2 requests running, 0 queued for it",
      "bob asked: serves llama3:latest",
    ]);
    expect(ask().onFailure?.reason).toContain("and waits there");
  });

  test("waits for a participant without requests while others have the slots of its machine", async () => {
    const { ana, bob, carl, ask } = await lab();
    for (const one of [bob, carl]) occupySlot(one, { address: home, person: "eve" }, 0);
    bob.paths.direct = { kind: "failed", reason: "ECONNREFUSED" };
    expect(ana.load.machine).toBe(carl.load.machine);
    expect(verdicts(ask())[0]).toBe(
      "ana full: 0 of 2 requests running, 0 queued for it; 2 of 2 slots of its machine are taken, which it shares with 2 others",
    );
    expect(ask().participants[0]?.load).toMatchObject({
      active: 0,
      machine: { active: 2, limit: 2, participants: 3 },
    });
  });

  test("waits when all are full, and is refused when too many wait already", async () => {
    const { ana, bob, ask } = await lab();
    ana.load.active = 2;
    bob.load.active = 2;
    expect(ask({ waiting: 2 })).toMatchObject({
      outcome: "waits",
      queue: { waiting: 2, limit: 3, waitMs: 60_000 },
    });
    const full = ask({ waiting: 3 });
    expect(full).toMatchObject({
      outcome: "refused",
      refusal: { status: 429, code: "queue_full" },
    });
    expect(full).not.toHaveProperty("onFailure");
  });

  test("that no participant serves is refused as a request is, with what was probably meant", async () => {
    const { ask } = await lab();
    expect(ask({ model: "lama3" })).toMatchObject({
      outcome: "refused",
      refusal: { status: 404, code: "model_not_found", message: expect.stringContaining("llama3") },
    });
  });
});

describe("an id", () => {
  test("goes there and nowhere else", async () => {
    const { ask } = await lab();
    const told = ask({ model: "bob" });
    expect(told).toMatchObject({ readAs: "id", outcome: "asked" });
    expect(told.onFailure?.movesTo).toBeNull();
    expect(told.onFailure?.reason).toContain("names bob by its id");
  });

  test("comes before a model of that name, which takes over while the id cannot be reached", async () => {
    const { office, carl, ask } = await lab();
    await office.join({ id: "dora", model: "carl" });
    expect(verdicts(ask({ model: "carl" })).slice(0, 2)).toEqual([
      "carl asked: has that id",
      "dora standby: only while carl cannot be reached: an id comes before a model's name",
    ]);
    carl.paths.direct = { kind: "failed", reason: "ECONNREFUSED" };
    expect(verdicts(ask({ model: "carl" })).slice(0, 2)).toEqual([
      "carl passed-over: ECONNREFUSED",
      "dora asked: serves carl",
    ]);
  });
});

describe("anybody", () => {
  test.each(["*", "any"])("%s goes to one of those with room, at random", async (model) => {
    const { bob, ask } = await lab();
    bob.paths.direct = { kind: "failed", reason: "ECONNREFUSED" };
    const told = ask({ model });
    expect(told.readAs).toBe("any");
    expect(verdicts(told)).toEqual([
      "ana random: one of these, at random",
      "bob passed-over: ECONNREFUSED",
      "carl random: one of these, at random",
    ]);
    expect(told.onFailure?.reason).toContain("another of them");
  });

  test("goes to the only one with room, and waits for another when that fails", async () => {
    const { bob, carl, ask } = await lab();
    for (const one of [bob, carl]) one.load.active = 2;
    const told = ask({ model: "*" });
    expect(told.participants.map(({ verdict }) => verdict)).toEqual(["asked", "full", "full"]);
    expect(told.onFailure?.reason).toContain("another of them");
  });

  test("is not moved when there is no other", async () => {
    const { bob, carl, ask } = await lab();
    for (const one of [bob, carl]) one.paths.direct = { kind: "failed", reason: "ECONNREFUSED" };
    expect(verdicts(ask({ model: "*" }))[0]).toBe("ana asked: the only one available now");
    expect(ask({ model: "*" }).onFailure).toEqual({
      movesTo: null,
      reason: "no other participant can serve it",
    });
  });
});

test("a surface that a participant does not support passes it over", async () => {
  const { office, ask } = await lab();
  const capabilities = { openResponses: "unsupported" } as const;
  await office.join({ id: "ana", model: "llama3", capabilities });
  const told = ask({ protocol: "openResponses" });
  expect(verdicts(told)).toContain("ana passed-over: does not support /responses");
  expect(verdicts(told)).toContain("bob asked: serves llama3:latest");
});

test("explaining changes nothing", async () => {
  const { office, ana, ask } = await lab();
  const before = JSON.stringify(ana);
  office.seen();
  ask({ model: "*" });
  expect(JSON.stringify(ana)).toBe(before);
  expect(office.seen()).toEqual([]);
});

describe("what a request by model name can expect", () => {
  test("is shown for each participant as far as it was measured", async () => {
    const { ask, ana, bob, office } = await lab();
    const nowMs = office.context.nowMs();
    for (const bytes of [1_000, 5_000])
      ana.learned.pace.noteFirst(
        "stream",
        { promptBytes: bytes, coldBytes: bytes },
        bytes / 10,
        nowMs,
      );
    const key = office.context.keyedHash(`session ${office.room}`, "s1");
    const room = office.context.registry.room(office.room);
    room.placing.warm.note(ana, { session: key, borders: [], bytes: 3_000 }, nowMs);
    const { participants } = ask({ session: "s1" });
    expect(Object.fromEntries(participants.map(({ id, expected }) => [id, expected]))).toEqual({
      ana: { waitMs: 0, firstTokenMs: 100, promptBytesPerSecond: 10_000, warmBytes: 3_000 },
      bob: { waitMs: 0, warmBytes: 0 },
      carl: undefined,
    });
    expect(bob.learned.pace.promptBytesPerSecond("stream")).toBeUndefined();
  });

  test("is that of whole responses where no stream was measured", async () => {
    const { ask, ana, office } = await lab();
    const nowMs = office.context.nowMs();
    ana.learned.pace.noteFirst("whole", { promptBytes: 4_000, coldBytes: 4_000 }, 800, nowMs);
    expect(ask().participants[0]?.expected).toEqual({
      waitMs: 0,
      firstTokenMs: 800,
      promptBytesPerSecond: 5_000,
    });
    ana.learned.pace.noteFirst("stream", { promptBytes: 4_000, coldBytes: 4_000 }, 200, nowMs);
    expect(ask().participants[0]?.expected?.firstTokenMs).toBe(200);
  });

  test("shows no warm share of a session that is not named, and nothing where order or chance decides", async () => {
    const { ask } = await lab();
    expect(ask().participants[0]?.expected).toEqual({ waitMs: 0 });
    for (const model of ["*", "model:llama3", "ana"]) {
      expect(ask({ model }).participants[0]?.expected).toBeUndefined();
    }
  });

  test("includes the wait for a participant at capacity that has the session in its cache", async () => {
    const { ask, ana, bob, office } = await lab();
    const nowMs = office.context.nowMs();
    for (const {
      learned: { pace },
    } of [ana, bob]) {
      for (const bytes of [1_000, 5_000])
        pace.noteFirst("stream", { promptBytes: bytes, coldBytes: bytes }, bytes, nowMs);
      pace.noteSlot(500);
    }
    const key = office.context.keyedHash(`session ${office.room}`, "s1");
    const room = office.context.registry.room(office.room);
    room.placing.warm.note(bob, { session: key, borders: [], bytes: 4_000 }, nowMs);
    Object.assign(bob.load, { active: 2, startedMs: [nowMs, nowMs] });
    const told = ask({ session: "s1" });
    expect(told.outcome).toBe("waits");
    expect(verdicts(told)[1]).toBe(
      "bob full: has the session in its cache: a request waits up to 4000 ms for it",
    );
  });
});
