import { describe, expect, test } from "vitest";
import { join, joinDirect, PATHS } from "../support/hub/joining.ts";
import { startRoutedProvider, type RoutedAnswer } from "../support/providers/routed-provider.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

const usage = { input_tokens: 7, output_tokens: 2 };
const message = { id: "msg_1", type: "message", role: "assistant", content: [], usage };
const events = [
  { type: "message_start", message: { ...message, usage: { input_tokens: 7, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
];
const encoded = events.map(({ type, ...rest }) => {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
});

async function ask(hub: TestHub, code: string, body: object, path = "messages"): Promise<Response> {
  return hub.fetch(`/rooms/${code}/v1/${path}`, { json: { max_tokens: 9, messages: [], ...body } });
}

/** A room with one participant whose provider gives this response to messages. */
async function lab(answer: RoutedAnswer) {
  const provider = await startRoutedProvider({ "POST /messages": () => answer });
  const hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { model: "claude", endpoint: provider.url });
  const watched = await hub.watch(code);
  return {
    hub,
    code,
    watched,
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

describe.each(PATHS)("over %s", (path) => {
  test("messages pass with their headers, and the events report them", async () => {
    await using provider = await startRoutedProvider({
      "POST /messages": ({ body }) =>
        (JSON.parse(body) as { stream?: boolean }).stream
          ? { stream: encoded.join("") }
          : { json: message },
      "POST /messages/count_tokens": () => ({ json: { input_tokens: 7 } }),
    });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const config = { temperature: 0.5, stop: "END" };
    await using _ada = await join(path, hub, code, {
      model: "claude",
      endpoint: provider.url,
      config,
    });
    const watched = await hub.watch(code);
    const headers = { "anthropic-version": "2023-06-01", "x-api-key": "theirs" };
    const plain = await hub.fetch(`/v1/rooms/${code}/messages`, {
      headers,
      json: { model: "*", max_tokens: 9, messages: [] },
    });
    expect(await plain.json()).toEqual(message);
    expect(provider.requests.at(-1)).toMatchObject({
      headers: { "anthropic-version": "2023-06-01" },
      body: '{"temperature":0.5,"stop_sequences":["END"],"model":"claude","max_tokens":9,"messages":[]}',
    });
    expect(provider.requests.at(-1)?.headers["x-api-key"]).toBeUndefined();
    const first = await watched.next("llm.complete");
    expect(first.data).toMatchObject({
      protocol: "messages",
      metrics: { inputTokens: 7, outputTokens: 2 },
    });
    const streamed = await ask(hub, code, { model: "*", stream: true });
    expect(await streamed.text()).toBe(encoded.join(""));
    await watched.waitFor("a second end", () => watched.of("llm.complete").length === 2);
    expect(watched.of("llm.complete")[1]?.data).toMatchObject({
      protocol: "messages",
      metrics: { inputTokens: 7, outputTokens: 2, totalTokens: 9 },
    });
    const counted = await ask(hub, code, { model: "*" }, "messages/count_tokens");
    expect(await counted.json()).toEqual({ input_tokens: 7 });
    expect(provider.requests.at(-1)?.body).not.toContain("temperature");
  });
});

test.each(["messages", "messages/count_tokens"])(
  "errors on %s have the shape its clients read",
  async (path) => {
    await using room = await lab({ json: message });
    const wrong = await ask(room.hub, room.code, { model: "nobody" }, path);
    expect(wrong.status).toBe(404);
    expect(wrong.headers.get("request-id")).toBe(wrong.headers.get("x-request-id"));
    expect(await wrong.json()).toMatchObject({
      type: "error",
      error: { type: "not_found_error", code: "model_not_found" },
    });
    const noRoom = await ask(room.hub, "ZZZZZZ", { model: "*" }, path);
    expect(await noRoom.json()).toMatchObject({
      type: "error",
      error: { type: "not_found_error", code: "room_not_found" },
    });
    const noJson = await room.hub.fetch(`/rooms/${room.code}/v1/${path}`, {
      method: "POST",
      body: "{",
    });
    expect(await noJson.json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", code: "invalid_json" },
    });
  },
);

test("a provider's refusal passes in its shape, and is translated when it has another", async () => {
  const own = { type: "error", error: { type: "invalid_request_error", message: "too short" } };
  {
    await using room = await lab({ status: 400, json: own });
    const answer = await ask(room.hub, room.code, { model: "*" });
    expect([answer.status, await answer.json()]).toEqual([400, own]);
  }
  await using room = await lab({ status: 400, json: { error: { message: "too short" } } });
  const answer = await ask(room.hub, room.code, { model: "*" });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    type: "error",
    error: { type: "invalid_request_error", message: "too short" },
  });
});

test("a 500 over the request's own mistake is an invalid request in Anthropic's shape", async () => {
  const theirs = { error: { message: "image input is not supported", type: "server_error" } };
  await using room = await lab({ status: 500, json: theirs });
  const answer = await ask(room.hub, room.code, { model: "*" });
  expect([answer.status, answer.headers.get("x-should-retry")]).toEqual([400, "false"]);
  expect(await answer.json()).toMatchObject({
    type: "error",
    error: { type: "invalid_request_error", message: "image input is not supported" },
  });
});

test("a stream that ends before message_stop ends in an error event", async () => {
  await using room = await lab({ stream: encoded.slice(0, -1).join("") });
  const answer = await ask(room.hub, room.code, { model: "*", stream: true });
  const text = await answer.text();
  expect(text.startsWith(encoded.slice(0, -1).join(""))).toBe(true);
  const last = text.slice(encoded.slice(0, -1).join("").length);
  expect(last).toMatch(/^event: error\ndata: \{"type":"error","error":\{"type":"api_error",/);
  expect(text).not.toContain("[DONE]");
  const told = await room.watched.next("llm.error");
  expect(told.data).toMatchObject({ protocol: "messages", code: "provider_disconnected" });
});

test("an error event of the provider's own is the request's error", async () => {
  const failed = `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n`;
  await using room = await lab({ stream: encoded[0] + failed });
  const answer = await ask(room.hub, room.code, { model: "*", stream: true });
  expect(await answer.text()).toBe(encoded[0] + failed);
  const told = await room.watched.next("llm.error");
  expect(told.data).toMatchObject({ code: "provider_error", error: "busy", stage: "provider" });
});
