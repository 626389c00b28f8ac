import { describe, expect, test } from "vitest";
import { chat, completion, probe, start } from "../model-server.fixture.ts";
import { listen, type Reply } from "../scripted-server.fixture.ts";
import type { ModelServer } from "../model-server.ts";
import { foldMessage } from "../../../../tests/support/documents/fold-message.ts";
import { checkMessageEvents } from "../../../../tests/support/documents/message-rules.ts";
import { messageEventsIn } from "./message.fixture.ts";

const native = "POST /v1/messages";
const own: Reply = { body: '{"type":"message","content":[]}' };
const request = {
  model: "m",
  max_tokens: 32_000,
  messages: [{ role: "user", content: "2+2?" }],
};
const streamed = [
  'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"4"}}]}\n\n',
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
];
const stream: Reply = { type: "event-stream", body: streamed };

async function ask(server: ModelServer, more: object = {}) {
  const body = [Buffer.from(JSON.stringify({ ...request, ...more }))];
  const heard = listen(server, { path: "/messages", body });
  await heard.closed;
  return heard;
}

describe("messages", () => {
  test("of a server that has no such path are made from its chat, from then on at once", async () => {
    const { server, provider } = start({ [chat]: { body: completion } });
    const heard = await ask(server);
    expect(heard.log).toEqual(["head", "data", "end", "closed"]);
    expect(heard.headers).toMatchObject({ "x-roomhub-translated": "chat" });
    expect(JSON.parse(heard.body)).toMatchObject({
      type: "message",
      content: [{ type: "text", text: "hello" }],
      stop_reason: "end_turn",
    });
    await ask(server);
    expect(provider.lines()).toEqual([native, chat, chat]);
    expect(server.capabilities).toMatchObject({ messages: "supported" });
  });

  test("of a server that has them pass as they are", async () => {
    const { server, provider } = start({ [native]: own, [chat]: { body: completion } });
    expect((await ask(server)).body).toBe(own.body);
    expect(provider.requests[0]?.body).toBe(JSON.stringify(request));
  });

  test("are streams by the rules", async () => {
    const { server } = start({ [chat]: stream });
    const heard = await ask(server, { stream: true });
    expect(heard.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "x-roomhub-translated": "chat",
    });
    expect(checkMessageEvents(messageEventsIn(heard.body))).toEqual([]);
  });

  test("are streams by the rules from a server that does not stream, too", async () => {
    const { server } = start({ [chat]: { body: completion } });
    const heard = await ask(server, { stream: true });
    expect(heard.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    const events = messageEventsIn(heard.body);
    expect(checkMessageEvents(events)).toEqual([]);
    expect(foldMessage(events)).toMatchObject({
      content: [{ type: "text", text: "hello" }],
      stop_reason: "end_turn",
    });
  });

  test("that break off without a finish reason fail, whatever was sent", async () => {
    const { server } = start({ [chat]: { ...stream, body: streamed.slice(0, 1) } });
    const heard = await ask(server, { stream: true });
    expect(heard.log).toEqual(["head", "data", "provider_disconnected", "closed"]);
  });

  test("whose calls have arguments that are no object fail in JSON", async () => {
    const call = { id: "1", type: "function", function: { name: "f", arguments: "ls" } };
    const message = { role: "assistant", tool_calls: [call] };
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] });
    const { server } = start({ [chat]: { body } });
    expect((await ask(server)).failure?.code).toBe("provider_invalid_response");
  });

  test.each(["native", "translated"] as const)("are %s where the user chose so", async (mode) => {
    const { server, provider } = start(
      { [native]: own, [chat]: { body: completion } },
      { modes: () => ({ messages: mode }) },
    );
    await ask(server);
    expect(provider.lines()).toEqual([mode === "native" ? native : chat]);
    const none = start({ [chat]: { body: completion } }, { modes: () => ({ messages: mode }) });
    expect((await ask(none.server)).status).toBe(mode === "native" ? 404 : 200);
  });

  const schema = { type: "object", properties: { city: { type: "string" } } };
  const format = { output_config: { format: { type: "json_schema", schema } } };
  const llamaCpp: Record<string, Reply> = {
    "GET /v1/models": { body: '{"data":[{"id":"m","owned_by":"llamacpp"}]}' },
    "GET /props": { body: '{"default_generation_settings":{},"build_info":"b1"}' },
    [native]: own,
    [chat]: { body: completion },
  };

  test("of llama.cpp are its own", async () => {
    const { server, provider } = start(llamaCpp);
    await probe(server, provider);
    expect((await ask(server)).body).toBe(own.body);
  });

  test("with a schema are made from the chat of a server that enforces it there alone", async () => {
    const { server, provider } = start(llamaCpp);
    await probe(server, provider);
    // One that was served natively is proof of the path, and of nothing else.
    expect((await ask(server)).body).toBe(own.body);
    expect(JSON.parse((await ask(server, format)).body)).toMatchObject({ type: "message" });
    const sent = JSON.parse(provider.requests.at(-1)?.body ?? "") as Record<string, unknown>;
    expect(provider.lines().at(-1)).toBe(chat);
    expect(sent["response_format"]).toMatchObject({ json_schema: { schema, strict: true } });
    expect((await ask(server, { output_config: { effort: "low" } })).body).toBe(own.body);
    expect((await ask(server, { metadata: { "output_config.format": 1 } })).body).toBe(own.body);
  });

  test("with a schema stay native where the user chose so, and at a server that may enforce it", async () => {
    const chosen = start(llamaCpp, { modes: () => ({ messages: "native" }) });
    await probe(chosen.server, chosen.provider);
    expect((await ask(chosen.server, format)).body).toBe(own.body);
    const other = start({ [native]: own, [chat]: { body: completion } });
    expect((await ask(other.server, format)).body).toBe(own.body);
  });

  const ollama: Record<string, Reply> = {
    "GET /v1/models": { body: '{"data":[{"id":"m","owned_by":"library"}]}' },
    "GET /api/version": { body: '{"version":"0.14.0"}' },
    [native]: own,
    [chat]: { body: completion },
  };
  const [question] = request.messages;

  describe.each([
    [
      "a tool that the server runs",
      { tools: [{ type: "web_search_20250305", name: "web_search" }] },
    ],
    [
      "a block of such a tool",
      { messages: [question, { role: "assistant", content: [{ type: "server_tool_use" }] }] },
    ],
    ["a message to continue", { messages: [question, { role: "assistant", content: "{" }] }],
  ])("with a schema and %s", (_what, more) => {
    test("pass as they are at a server that has messages itself", async () => {
      const { server, provider } = start(ollama);
      await probe(server, provider);
      const before = provider.requests.length;
      expect((await ask(server, { ...format, ...more })).body).toBe(own.body);
      expect(provider.lines().slice(before)).toEqual([native]);
    });

    test("are refused where the server turns out not to", async () => {
      const { server, provider } = start({ ...ollama, [native]: { status: 404 } });
      await probe(server, provider);
      const before = provider.requests.length;
      const refused = await ask(server, { ...format, ...more });
      expect(refused.status).toBe(400);
      expect(refused.body).toContain("has no counterpart in chat completions");
      expect(provider.lines().slice(before)).toEqual([native]);
    });
  });

  test("without a counterpart are refused in Anthropic's shape, and no provider gets them", async () => {
    const { server, provider } = start({}, { modes: () => ({ messages: "translated" }) });
    const heard = await ask(server, { thread: { type: "continue", previous_message_id: "msg_1" } });
    expect(heard.status).toBe(400);
    expect(JSON.parse(heard.body)).toMatchObject({
      type: "error",
      error: {
        type: "invalid_request_error",
        code: "thread_not_found",
        details: { error_code: "thread_not_found" },
      },
    });
    expect(provider.lines()).toEqual([]);
  });
});

describe("a member that the server refuses", () => {
  type Body = Record<string, unknown>;

  function refusing(refusal: (body: Body) => string | undefined) {
    const bodies: Body[] = [];
    const { server } = start(
      ({ line, body }) => {
        if (line !== chat) return undefined;
        const requested = JSON.parse(body) as Body;
        bodies.push(requested);
        const message = refusal(requested);
        if (message === undefined) return { body: completion };
        return { status: 400, body: JSON.stringify({ error: { message } }) };
      },
      { modes: () => ({ messages: "translated" }) },
    );
    return { server, bodies };
  }

  test.each([
    "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 8192 tokens and your request has 100 input tokens (32000 > 8192 - 100).",
    "This model's maximum context length is 8192 tokens. However, you requested 32100 tokens (100 in the messages, 32000 in the completion).",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  ])("is left out of a second request: %s", async (message) => {
    const { server, bodies } = refusing((body) => ("max_tokens" in body ? message : undefined));
    expect((await ask(server)).status).toBe(200);
    expect(bodies.map((body) => body["max_tokens"])).toEqual([32_000, undefined]);
  });

  test("is sent again in the next request, since the refusal may be about this one", async () => {
    const { server, bodies } = refusing((body) =>
      "max_tokens" in body ? "max_tokens" : undefined,
    );
    await ask(server);
    await ask(server);
    expect(bodies).toHaveLength(4);
  });

  test("is left out once, whatever the server says then", async () => {
    const { server, bodies } = refusing(() => "max_tokens is too large");
    expect((await ask(server)).status).toBe(400);
    expect(bodies).toHaveLength(2);
  });

  test("may be one that only the translation has added", async () => {
    const output_config = { effort: "low", format: { type: "json_schema", schema: {} } };
    const names = ["reasoning_effort", "response_format"];
    const { server, bodies } = refusing((body) => names.find((name) => name in body));
    expect((await ask(server, { output_config })).status).toBe(200);
    expect(bodies.map((body) => names.filter((name) => name in body).length)).toEqual([2, 1, 0]);
  });

  test.each([
    '"llama3.2" does not support thinking',
    'think value "high" is not supported for this model',
    'invalid reasoning value: \'high\' (must be "low" or "none")',
  ])("may be the effort in Ollama's words: %s", async (message) => {
    const { server, bodies } = refusing((body) =>
      "reasoning_effort" in body ? message : undefined,
    );
    expect((await ask(server, { output_config: { effort: "max" } })).status).toBe(200);
    expect(bodies.map((body) => body["reasoning_effort"])).toEqual(["high", undefined]);
  });

  test("is not tried again for a prompt that is too long by itself", async () => {
    const { server, bodies } = refusing(
      () =>
        "This model's maximum context length is 40960 tokens. However, your request has 91200 input tokens.",
    );
    expect((await ask(server)).status).toBe(400);
    expect(bodies).toHaveLength(1);
  });
});

describe("thinking in the history", () => {
  const messages = [
    { role: "user", content: "2+2?" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Simple.", signature: "foreign" },
        { type: "text", text: "4" },
      ],
    },
    { role: "user", content: "3+3?" },
  ];

  test("goes back only to a server that has shown a field for it", async () => {
    const sent: unknown[] = [];
    const { server } = start(
      ({ line, body }) => {
        if (line !== chat) return undefined;
        const [, turn] = (JSON.parse(body) as { messages: object[] }).messages;
        sent.push(turn);
        const message = { role: "assistant", content: "4", reasoning: "hm" };
        const choices = [{ index: 0, message, finish_reason: "stop" }];
        return { body: JSON.stringify({ choices }) };
      },
      { modes: () => ({ messages: "translated" }) },
    );
    await ask(server, { messages });
    await ask(server, { messages });
    expect(sent).toEqual([
      { role: "assistant", content: "4" },
      { role: "assistant", content: "4", reasoning: "Simple." },
    ]);
  });

  test("stays in its field when the server refuses the effort and calls it reasoning", async () => {
    const sent: unknown[] = [];
    const refusal = JSON.stringify({ error: { message: "invalid reasoning value: 'x'" } });
    const message = { role: "assistant", content: "4", reasoning: "hm" };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    const { server } = start(
      ({ line, body }) => {
        if (line !== chat) return undefined;
        const requested = JSON.parse(body) as { messages: object[]; reasoning_effort?: string };
        sent.push(requested.messages[1]);
        if (requested.reasoning_effort !== undefined) return { status: 400, body: refusal };
        return { body: JSON.stringify({ choices }) };
      },
      { modes: () => ({ messages: "translated" }) },
    );
    await ask(server, { messages });
    await ask(server, { messages, output_config: { effort: "x" } });
    await ask(server, { messages });
    const turn = { role: "assistant", content: "4", reasoning: "Simple." };
    expect(sent.slice(1)).toEqual([turn, turn, turn]);
  });
});
