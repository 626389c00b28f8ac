import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench, retrySignals } from "./dispatch.fixture.ts";

const json = '{"object":"chat.completion","choices":[]}';
const people = (...ids: string[]) => ids.map((id) => aParticipant({ id, limit: 1 }));
const attemptsOf = (bench: ReturnType<typeof createBench>) =>
  bench.events.map((event) => ("attempt" in event ? event.attempt : `of ${event.attempts}`));

describe("a request that a participant refuses for its budget", () => {
  test.each(["*", "any", "model:llama3", "llama3"])(
    "goes to another participant when it is for %s",
    (model) => {
      const bench = createBench(people("ana", "bob"));
      const sent = bench.send({ model });
      bench.call().refuse("budget", 30);
      expect(bench.call().participant.id).toBe("bob");
      bench.call().respond(200, json);
      expect(sent.client).toMatchObject({ status: 200, text: json });
      expect(sent.ledger()).toEqual(["llm.request", "llm.request", "llm.complete"]);
      expect(attemptsOf(bench)).toEqual([1, 2, "of 2"]);
    },
  );

  test("waits for another that is at capacity, at the head of the queue", () => {
    const bench = createBench(people("ana", "bob"));
    bench.send({ model: "bob" });
    const busy = bench.call();
    const sent = bench.send();
    bench.call().refuse("budget", 30);
    expect(bench.calls).toHaveLength(2);
    busy.respond(200, json);
    expect(bench.call().participant.id).toBe("bob");
    bench.call().respond(200, json);
    expect(sent.client.status).toBe(200);
  });

  test.each(["budget", "person"] as const)("counts as no failure: %s", (refusal) => {
    const [ana, bob] = people("ana", "bob");
    const bench = createBench([ana!, bob!]);
    bench.send();
    bench.call().refuse(refusal, 30);
    expect(ana?.learned.pace.isDoubtful(1_000)).toBe(false);
  });

  test("may be sent to three participants beside those that refused it", () => {
    const bench = createBench(people("ana", "bob", "cy", "dee", "eve", "fay"));
    bench.send();
    bench.call().refuse("budget", 30);
    bench.call().refuse("person", 30);
    for (let count = 0; count < 3; count++) bench.call().fail("tunnel_lost");
    expect(bench.calls.map(({ participant }) => participant.id)).toEqual([
      ...["ana", "bob", "cy", "dee", "eve"],
    ]);
  });

  test.each(["ana", "*"])("gets a 429 when there is no other for %s", (model) => {
    const bench = createBench(people("ana"));
    const sent = bench.send({ model });
    bench.call().refuse("budget", 30);
    expect(sent.client).toMatchObject({
      status: 429,
      error: { code: "budget_exhausted", message: "The budget of ana is used up." },
    });
    expect(retrySignals(sent)).toEqual({ "retry-after": "30" });
    expect(sent.ending()).toMatchObject({ participantId: "ana", code: "budget_exhausted" });
    expect(sent.ledger()).toEqual(["llm.request", "llm.error"]);
  });

  test("gets the 429 also after a tunnel that its agent never read", () => {
    const bench = createBench(people("ana"));
    const sent = bench.send();
    const { sink } = bench.call();
    sink.onFailure({ code: "tunnel_lost", message: "lost", isUnread: true });
    sink.onClosed();
    bench.call().refuse("budget", 30);
    expect(sent.client).toMatchObject({ status: 429, error: { code: "budget_exhausted" } });
    expect(retrySignals(sent)).toEqual({ "retry-after": "30" });
    expect(sent.ending()).toMatchObject({ code: "budget_exhausted", attempts: 2 });
  });

  test("by id is not moved", () => {
    const bench = createBench(people("ana", "bob"));
    const sent = bench.send({ model: "ana" });
    bench.call().refuse("budget", 30);
    expect(bench.calls).toHaveLength(1);
    expect(sent.client.status).toBe(429);
  });

  test("after an early commit ends in an error frame", () => {
    const bench = createBench(people("ana", "bob"));
    const sent = bench.send({ stream: true });
    bench.pass(45_001);
    bench.call().refuse("budget", 30);
    expect(sent.client.text).toContain("budget_exhausted");
    expect(sent.ledger()).toEqual(["llm.request", "llm.error"]);
  });
});

describe("a participant whose budget is used up", () => {
  test("gets no request until its retry-after is over, by id neither", () => {
    const bench = createBench(people("ana", "bob"));
    bench.send();
    bench.call().refuse("budget", 30);
    bench.call().respond(200, json);
    bench.send();
    expect(bench.call().participant.id).toBe("bob");
    bench.call().respond(200, json);
    bench.pass(10_000);
    const refused = bench.send({ model: "ana" });
    expect(bench.calls).toHaveLength(3);
    expect(refused.client.error).toMatchObject({
      code: "budget_exhausted",
      message: "The budget of ana is used up. Try again in 20 s.",
      participants: [{ id: "ana", reason: "its budget is used up for 20 s" }],
    });
    expect(retrySignals(refused)).toEqual({ "retry-after": "20" });
    expect(refused.ledger()).toEqual(["llm.error"]);
    bench.pass(20_000);
    bench.send({ model: "ana" });
    expect(bench.call().participant.id).toBe("ana");
  });

  test("still gets requests of other persons when it refused one of a person", () => {
    const bench = createBench(people("ana"));
    expect(bench.send().client.status).toBe(0);
    bench.call().refuse("person", 3_600);
    bench.send();
    expect(bench.calls).toHaveLength(2);
  });

  test.each([
    ["a year", 31_536_000, 25 * 3_600],
    ["no time", 0, 1],
  ])("rests for at least 1 s and at most 25 h when it asks for %s", (_what, seconds, rest) => {
    const bench = createBench(people("ana"));
    bench.send();
    bench.call().refuse("budget", seconds);
    expect(bench.room.participants.get("ana")?.load.restsUntilMs).toBe(1_000 + rest * 1_000);
  });
});

describe("a provider's 429", () => {
  const headers = { "content-type": "application/json", "retry-after": "7" };
  const body = '{"error":{"message":"slow down","type":"requests","param":null,"code":"rpm"}}';

  test("moves a request to another participant that is ready, as an attempt", () => {
    const bench = createBench(people("ana", "bob"));
    const sent = bench.send();
    bench.call().respond(429, body, headers);
    expect(bench.call().participant.id).toBe("bob");
    bench.call().respond(200, json);
    expect(sent.client.headers["x-roomhub-attempts"]).toBe("2");
    bench.send();
    expect(bench.call().participant.id).toBe("ana");
  });

  test.each(["ana", "*"])("is passed on for %s when no other is ready", (model) => {
    const bench = createBench(people("ana", "bob"));
    bench.send({ model: "bob" });
    const sent = bench.send({ model });
    bench.call().respond(429, body, headers);
    expect(sent.client).toMatchObject({ status: 429, text: body });
    expect(sent.client.headers["retry-after"]).toBe("7");
    expect(sent.ending()).toMatchObject({ code: "rpm", attempts: 1 });
  });

  test("of the third participant is passed on", () => {
    const bench = createBench(people("ana", "bob", "cy", "dee"));
    const sent = bench.send();
    for (let count = 0; count < 3; count++) bench.call().respond(429, body, headers);
    expect(bench.calls).toHaveLength(3);
    expect(sent.client).toMatchObject({ status: 429, text: body });
  });

  test("that came first is what the client gets when the others fail too", () => {
    const bench = createBench(people("ana", "bob"));
    const sent = bench.send();
    bench.call().respond(429, body, headers);
    bench.call().fail("tunnel_lost");
    expect(sent.client.error).toMatchObject({ status: 429, message: "slow down" });
    expect(retrySignals(sent)["retry-after"]).toBe("7");
  });
});
