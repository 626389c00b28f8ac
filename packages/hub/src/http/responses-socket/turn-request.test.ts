import { resolveLimits } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import type { HubError } from "../../errors.ts";
import { readTurnMessage, turnRequest, TurnMemory, warmUpMessages } from "./turn-request.ts";
import { BodyBudget } from "../../inference/body-budget.ts";

const limits = resolveLimits(undefined);

function read(message: object) {
  return readTurnMessage(Buffer.from(JSON.stringify({ type: "response.create", ...message })));
}

/** The request a message is made into, decoded. */
function requestOf(message: object, before?: string) {
  const items = before === undefined ? undefined : Buffer.from(before);
  const { body, items: said } = turnRequest(read(message), items, limits);
  const text = Buffer.concat([...body.chunks]).toString();
  return { request: JSON.parse(text) as object, body, said: said?.toString() };
}

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (thrown) {
    return (thrown as HubError).code;
  }
  return "nothing thrown";
}

describe("a turn's request", () => {
  test("is the message for a stream, without what only a socket has", () => {
    const message = { model: "*", input: "hi", store: false, top_k: 3 };
    const { request, body } = requestOf({
      ...message,
      stream: false,
      background: true,
      generate: true,
    });
    expect(request).toEqual({ ...message, stream: true });
    expect(body).toMatchObject({ model: "*", isStream: true, previousResponseId: undefined });
  });

  test("keeps an id that this socket does not remember, for its maker to know", () => {
    const { request, said } = requestOf({
      model: "*",
      input: "hi",
      previous_response_id: "resp_1",
    });
    expect(request).toMatchObject({ input: "hi", previous_response_id: "resp_1" });
    expect(said).toBeUndefined();
  });

  test.each([null, ""])("takes %j for no id", (previous_response_id) => {
    const { request } = requestOf({ model: "*", input: "hi", previous_response_id });
    expect(request).toEqual({ model: "*", input: "hi", stream: true });
  });

  test("leaves an id that is none to the provider", () => {
    const { request } = requestOf({ model: "*", previous_response_id: 7 });
    expect(request).toEqual({ model: "*", previous_response_id: 7, stream: true });
  });

  test.each([
    { input: "hi", items: '{"id":1},{"type":"message","role":"user","content":"hi"}' },
    { input: [{ id: 2 }, { id: 3 }], items: '{"id":1},{"id":2},{"id":3}' },
    { input: [], items: '{"id":1}' },
    { input: undefined, items: '{"id":1}' },
  ])("puts what was said before in front of $input", ({ input, items }) => {
    const { request, said, body } = requestOf(
      { model: "m", input, previous_response_id: "resp_1" },
      '{"id":1}',
    );
    expect(said).toBe(items);
    expect(request).toEqual({ model: "m", stream: true, input: JSON.parse(`[${items}]`) });
    expect(body.previousResponseId).toBeUndefined();
  });

  test("goes on from a turn in which nothing was said", () => {
    const { request } = requestOf(
      { model: "m", input: [{ id: 2 }], previous_response_id: "r" },
      "",
    );
    expect(request).toMatchObject({ input: [{ id: 2 }] });
  });

  test.each(["conversation", "prompt"])(
    "is not remembered when the context stands elsewhere, in %s",
    (name) => {
      expect(requestOf({ model: "*", input: "hi", [name]: { id: "x" } }).said).toBeUndefined();
    },
  );

  test("is refused when the input cannot be continued", () => {
    const go = () => requestOf({ model: "*", input: 7, previous_response_id: "r" }, '{"id":1}');
    expect(codeOf(go)).toBe("invalid_type");
  });

  test("may be as long as a body, with all that was said before, and not a byte longer", () => {
    const message = read({ model: "*", input: [], previous_response_id: "r" });
    const before = Buffer.from(JSON.stringify({ text: "x".repeat(500) }));
    const { body } = turnRequest(message, before, limits);
    const exactly = { ...limits, inferenceBodyBytes: body.length };
    expect(turnRequest(message, before, exactly).body.length).toBe(body.length);
    const less = { ...limits, inferenceBodyBytes: body.length - 1 };
    expect(codeOf(() => turnRequest(message, before, less))).toBe("request_too_large");
  });
});

describe("a message", () => {
  test.each([
    { text: "", code: "invalid_json" },
    { text: "null", code: "invalid_type" },
    { text: '"response.create"', code: "invalid_type" },
    { text: "{}", code: "invalid_type" },
    { text: '{"type":"response.create","stream_id":"a"}', code: "bad_request" },
  ])("$text is refused with $code", ({ text, code }) => {
    expect(codeOf(() => readTurnMessage(Buffer.from(text)))).toBe(code);
  });

  test("has its prototype left alone", () => {
    const text = '{"type":"response.create","model":"*","__proto__":{"input":"evil"}}';
    const message = readTurnMessage(Buffer.from(text));
    expect(message.input).toBeUndefined();
    expect(Object.getPrototypeOf(message.fields)).toBe(Object.prototype);
  });

  test.each([
    { generate: false, isWarmUp: true },
    { generate: true, isWarmUp: false },
    { generate: null, isWarmUp: false },
  ])("with generate: $generate is a warm-up: $isWarmUp", ({ generate, isWarmUp }) => {
    expect(read({ model: "*", generate }).isWarmUp).toBe(isWarmUp);
  });
});

const parts = (...texts: string[]) => texts.map((text) => Buffer.from(text));

test("the last turn is remembered under its response's id, and no other", () => {
  const memory = new TurnMemory(new BodyBudget(100), 100);
  expect(memory.remember("resp_1", parts('{"id":1}', "", '{"id":2}'))).toBe(true);
  expect(memory.itemsUpTo("resp_1")?.toString()).toBe('{"id":1},{"id":2}');
  expect(memory.itemsUpTo("resp_2")).toBeUndefined();
  memory.remember("resp_2", parts("{}"));
  expect(memory.itemsUpTo("resp_1")).toBeUndefined();
  expect(memory.itemsUpTo("resp_2")?.toString()).toBe("{}");
});

test("a turn of so many bytes is remembered, one of one more is not", () => {
  const memory = new TurnMemory(new BodyBudget(100), 5);
  expect(memory.remember("a", parts("12345"))).toBe(true);
  expect(memory.remember("b", parts("123456"))).toBe(false);
  expect(memory.itemsUpTo("a")).toBeUndefined();
});

test("what is remembered counts as held until it is forgotten", () => {
  const bodies = new BodyBudget(10);
  const memory = new TurnMemory(bodies, 100);
  memory.remember("a", parts("123"));
  expect(bodies.bytes).toBe(3);
  memory.remember("b", parts("12345"));
  expect(bodies.bytes).toBe(5);
  memory.forget();
  memory.forget();
  expect(bodies.bytes).toBe(0);
});

test("a hub that holds all it may forgets the turn instead of failing", () => {
  const bodies = new BodyBudget(10);
  bodies.hold(8);
  const memory = new TurnMemory(bodies, 100);
  expect(memory.remember("a", parts("123"))).toBe(false);
  expect(memory.itemsUpTo("a")).toBeUndefined();
  expect(bodies.bytes).toBe(8);
});

/** Open Responses 2026-04-24, ResponseResource: what every response has. */
const keys =
  "id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key";

test("a warm-up gets a complete response without output", () => {
  const message = {
    fields: { model: "m", temperature: 0, store: false, top_k: 4 },
    input: [],
    previousResponseId: "resp_0",
    isWarmUp: true,
  };
  const [first, last] = warmUpMessages(message, "resp_1", 12_345).map(
    (text) => JSON.parse(text) as { type: string; response: Record<string, unknown> },
  );
  expect(first).toMatchObject({
    type: "response.created",
    sequence_number: 0,
    response: { status: "in_progress", completed_at: null, usage: null },
  });
  expect(last).toMatchObject({
    type: "response.completed",
    sequence_number: 1,
    response: {
      ...{ id: "resp_1", status: "completed", created_at: 12, completed_at: 12, output: [] },
      ...{ model: "m", previous_response_id: "resp_0", temperature: 0, store: false },
      usage: { total_tokens: 0 },
    },
  });
  expect(Object.keys(last?.response ?? {}).sort()).toEqual(keys.split(" ").sort());
});
