import { resolveLimits } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { type HubError } from "../../errors.ts";
import { readTurnMessage, turnRequest } from "./turn-request.ts";

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
