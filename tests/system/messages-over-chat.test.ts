import { systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { startDemoProvider } from "../../packages/cli/src/demo/demo-provider.ts";
import { messageEventsIn } from "../../packages/provider/src/messages/message.fixture.ts";
import { foldMessage } from "../support/documents/fold-message.ts";
import { checkMessageEvents } from "../support/documents/message-rules.ts";
import { join, joinDirect, PATHS } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { startRoutedProvider, type RoutedAnswer } from "../support/providers/routed-provider.ts";

const usage = {
  prompt_tokens: 12,
  completion_tokens: 2,
  total_tokens: 14,
  prompt_tokens_details: { cached_tokens: 5 },
};
const completion = {
  model: "m",
  choices: [
    { index: 0, message: { role: "assistant", content: "It rains." }, finish_reason: "stop" },
  ],
  usage,
};
const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null) =>
  data({ model: "m", choices: [{ index: 0, delta, finish_reason }] });
const stream = [
  chunk({ role: "assistant", content: "" }),
  chunk({ content: "It " }),
  chunk({ content: "rains." }),
  chunk({}, "stop"),
  data({ model: "m", choices: [], usage }),
  "data: [DONE]\n\n",
];
const question = { max_tokens: 9, messages: [{ role: "user", content: "How is it in Oslo?" }] };

function ask(hub: TestHub, code: string, body: object, path = "messages"): Promise<Response> {
  const headers = { "anthropic-version": "2023-06-01" };
  return hub.fetch(`/rooms/${code}/v1/${path}`, { headers, json: { ...question, ...body } });
}

function startChat(answer: (isStream: boolean) => RoutedAnswer) {
  return startRoutedProvider({
    "POST /chat/completions": ({ body }) => answer(body.includes('"stream":true')),
  });
}

const talks = (isStream: boolean): RoutedAnswer =>
  isStream ? { stream: stream.join("") } : { json: completion };

describe.each(PATHS)("messages over a participant with chat alone, by %s", (path) => {
  test("are served under every selector, with the events and metrics of messages", async () => {
    await using provider = await startChat(talks);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "qwen", endpoint: provider.url });
    const watched = await hub.watch(code);
    for (const model of ["ada", "qwen", "model:qwen", "*", "any"]) {
      const whole = await ask(hub, code, { model });
      expect(whole.headers.get("x-roomhub-translated")).toBe("chat");
      expect(await whole.json()).toMatchObject({
        type: "message",
        content: [{ type: "text", text: "It rains." }],
        stop_reason: "end_turn",
        usage: { input_tokens: 7, cache_read_input_tokens: 5, output_tokens: 2 },
      });
      const streamed = await ask(hub, code, { model, stream: true }, "messages?beta=true");
      const text = await streamed.text();
      const events = messageEventsIn(text);
      expect(checkMessageEvents(events)).toEqual([]);
      expect(foldMessage(events)).toMatchObject({
        content: [{ type: "text", text: "It rains." }],
        usage: { input_tokens: 7, cache_read_input_tokens: 5, output_tokens: 2 },
      });
      expect(text).not.toContain("[DONE]");
    }
    await watched.waitFor("ten ends", () => watched.of("llm.complete").length === 10);
    for (const { data: event } of watched.of("llm.complete")) {
      expect(event).toMatchObject({
        protocol: "messages",
        metrics: { inputTokens: 12, outputTokens: 2, totalTokens: 14, cachedInputTokens: 5 },
      });
    }
    expect(JSON.parse(provider.requests.at(-1)?.body ?? "")).toMatchObject({ model: "qwen" });
  });

  test("have the participant's defaults", async () => {
    await using provider = await startChat(talks);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const config = { temperature: 0.5, stop: "END", instructions: "Be brief." };
    await using _ada = await join(path, hub, code, { endpoint: provider.url, config });
    await ask(hub, code, { model: "*" });
    expect(JSON.parse(provider.requests.at(-1)?.body ?? "")).toMatchObject({
      temperature: 0.5,
      stop: ["END"],
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "How is it in Oslo?" },
      ],
    });
  });

  test("that fail do so in Anthropic's shape, before the stream and in it", async () => {
    let answer: RoutedAnswer = {
      status: 400,
      json: { error: { message: "The context is full." } },
    };
    await using provider = await startChat(() => answer);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    const refused = await ask(hub, code, { model: "*" });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", message: "The context is full." },
    });
    const here = await ask(hub, code, { model: "*", mcp_servers: [{}] });
    expect(here.status).toBe(400);
    expect(await here.json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", message: expect.stringContaining("MCP") },
    });
    const begun = stream.slice(0, 2).join("");
    for (const text of [begun, `${begun}${data({ error: { message: "It broke." } })}`]) {
      answer = { stream: text };
      const response = await ask(hub, code, { model: "*", stream: true });
      const said = await response.text();
      // A failure may overtake what was sent just before it, and then there is no stream.
      const events = response.ok ? messageEventsIn(said) : [JSON.parse(said) as object];
      if (response.ok) expect(checkMessageEvents(events)).toEqual([]);
      expect(events.at(-1)).toMatchObject({ type: "error", error: { type: "api_error" } });
    }
  });

  test("are counted without a request to the model, as an event like every other", async () => {
    await using provider = await startChat(talks);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    const watched = await hub.watch(code);
    const counted = await ask(hub, code, { model: "*" }, "messages/count_tokens");
    expect(counted.headers.get("x-roomhub-token-count")).toBe("estimate");
    expect(await counted.json()).toEqual({ input_tokens: expect.any(Number) });
    expect(provider.requests.filter(({ method }) => method === "POST")).toEqual([]);
    expect((await watched.next("llm.complete")).data).toMatchObject({ protocol: "messages" });
  });
});

test("an alias leads messages to a participant with chat alone, under its own model's name", async () => {
  await using provider = await startChat(talks);
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { model: "qwen", endpoint: provider.url });
  const alias = { pattern: "claude-*", targets: ["qwen", "*"] };
  expect((await hub.fetch(`/rooms/${code}/aliases`, { json: alias })).status).toBe(201);
  const response = await ask(hub, code, { model: "claude-sonnet-4-5" });
  expect(await response.json()).toMatchObject({ type: "message", model: "m" });
  expect(JSON.parse(provider.requests.at(-1)?.body ?? "")).toMatchObject({ model: "qwen" });
});

test("a direct participant's config decides whether its messages are translated", async () => {
  const own = { type: "message", role: "assistant", content: [] };
  await using provider = await startRoutedProvider({
    "POST /chat/completions": () => ({ json: completion }),
    "POST /messages": () => ({ json: own }),
  });
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url });
  expect(await (await ask(hub, code, { model: "*" })).json()).toEqual(own);
  const { status } = await hub.fetch(`/v1/rooms/${code}/participants/ada`, {
    method: "PUT",
    body: JSON.stringify({ config: { messages: "translated" } }),
  });
  expect(status).toBe(200);
  expect(await (await ask(hub, code, { model: "*" })).json()).toMatchObject({
    content: [{ type: "text", text: "It rains." }],
  });
});

test("the built-in demo is a chat server, whose messages are translated", async () => {
  await using demo = await startDemoProvider(systemWorld, { wordMs: 0 });
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: demo.endpoint });
  const response = await ask(hub, code, { model: "*" });
  expect(await response.json()).toMatchObject({ type: "message", role: "assistant" });
});
