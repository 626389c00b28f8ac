import { createSseReader } from "@roomhub/protocol";
import { expect, test, vi } from "vitest";
import {
  send,
  body,
  chat,
  completion,
  native,
  probe,
  response,
  start,
} from "./model-server.fixture.ts";
import { type Heard, listen, type Reply } from "./scripted-server.fixture.ts";

const chunkOf = (delta: object, finish_reason: string | null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const chatStream = [
  chunkOf({ role: "assistant" }, null),
  chunkOf({ content: "hel" }, null),
  chunkOf({ content: "lo" }, null),
  chunkOf({}, "stop"),
  "data: [DONE]\n\n",
];
const unexpected: Reply = {
  body: '{"error":"Unexpected endpoint or method. (POST /v1/responses)"}',
};

const whole = ["head", "data", "end", "closed"];

function eventTypes(text: string): string[] {
  const types: string[] = [];
  createSseReader(({ event, data }) => types.push(event ?? data)).feed(text);
  return types;
}

test.each([
  ["404", undefined],
  ["405", { status: 405, body: "" }],
  ["501", { status: 501, body: "" }],
  ["a 200 that says unexpected endpoint", unexpected],
] as const)(
  "a server that has no responses (%s) gets chat requests instead, once and for all; the client sees one response",
  async (_how, denial) => {
    const { provider, server, reported } = start({
      ...(denial === undefined ? {} : { [native]: denial }),
      [chat]: { body: completion, headers: { "content-length": "9999", "x-ratelimit-limit": "3" } },
    });
    const first = await send(server);
    expect(first.log).toEqual(whole);
    expect(first.status).toBe(200);
    expect(first.headers).toEqual({
      "content-type": "application/json",
      "x-ratelimit-limit": "3",
      "x-roomhub-translated": "chat",
    });
    expect(JSON.parse(first.body)).toMatchObject({
      object: "response",
      status: "completed",
      output: [{ type: "message", content: [{ text: "hello" }] }],
    });
    expect(JSON.parse(provider.requests[1]?.body ?? "")).toEqual({
      model: "m",
      messages: [{ role: "user", content: "hi" }],
    });
    await send(server);
    expect(provider.lines()).toEqual([native, chat, chat]);
    expect(reported.at(-1)).toMatchObject({
      openResponses: "supported",
      chatCompletions: "supported",
    });
    expect(reported.at(-1)).toMatchObject({ storedResponses: "unsupported" });
    expect(provider.open).toBe(0);
  },
);

test.each<[string, Reply]>([
  ["a JSON response", response],
  ["a stream", { type: "event-stream", body: ["event: response.created\n", "data: {}\n\n"] }],
  ["a long response", { body: ["{", '"object":"response","x":"', "y".repeat(200_000), '"}'] }],
  ["a refusal of a field", { status: 400, body: '{"error":{"message":"input is wrong"}}' }],
  ["a model it does not have", { status: 404, body: '{"error":"model \\"m\\" not found"}' }],
])("%s of a server that has responses passes as it is", async (_what, reply) => {
  const { provider, server } = start({ [native]: reply });
  const heard = await send(server);
  expect(heard).toMatchObject({ status: reply.status ?? 200, body: [reply.body].flat().join("") });
  expect(heard.log).toEqual(whole);
  expect(server.capabilities.openResponses).toBe("supported");
  expect(provider.lines()).toEqual([native]);
});

test.each([401, 429, 500, 503])("a %i says nothing of what the server has", async (status) => {
  const { server, reported } = start({ [native]: { status, body: '{"error":"no"}' } });
  const heard = await send(server);
  expect(heard).toMatchObject({ status, body: '{"error":"no"}', log: whole });
  expect(reported).toEqual([]);
});

test("the response of a server that has neither passes, and the next look finds neither", async () => {
  const { provider, server } = start({ "GET /v1/models": { body: '{"data":[{"id":"m"}]}' } });
  const heard = await send(server);
  expect(heard).toMatchObject({ status: 404, body: "404 page not found", log: whole });
  expect(provider.lines()).toEqual([native, chat]);
  expect(server.capabilities).toMatchObject({
    openResponses: "unknown",
    chatCompletions: "unknown",
  });
  await probe(server, provider);
  expect(server.capabilities).toMatchObject({
    openResponses: "unsupported",
    chatCompletions: "unsupported",
  });
});

test("a stream is translated event by event", async () => {
  const { server, reported } = start({ [chat]: { type: "event-stream", body: chatStream } });
  const heard = await send(server, { stream: true });
  expect(heard.log).toEqual(whole);
  expect(heard.headers["content-type"]).toMatch(/^text\/event-stream/);
  const types = eventTypes(heard.body);
  expect(types.slice(0, 2)).toEqual(["response.created", "response.in_progress"]);
  expect(types.slice(-2)).toEqual(["response.completed", "[DONE]"]);
  expect(types.filter((type) => type === "response.output_text.delta")).toHaveLength(2);
  expect(reported.at(-1)).toMatchObject({ streamUsage: "supported" });
});

test("a JSON response to a request for a stream is translated as JSON", async () => {
  const { server } = start({ [chat]: { body: completion } });
  const heard = await send(server, { stream: true });
  expect(heard.headers["content-type"]).toBe("application/json");
  expect(JSON.parse(heard.body)).toMatchObject({ object: "response" });
});

test("a server that does not take stream_options gets the request again without, and never again with", async () => {
  const { provider, server, reported } = start(({ line, body: text }) => {
    if (line === native) return undefined;
    return text.includes("stream_options")
      ? { status: 422, body: '{"error":"unknown field stream_options"}' }
      : { type: "event-stream", body: chatStream };
  });
  const heard = await send(server, { stream: true });
  expect(heard).toMatchObject({ status: 200, log: whole });
  await send(server, { stream: true });
  expect(provider.lines()).toEqual([native, chat, chat, chat]);
  expect(reported.at(-1)).toMatchObject({ streamUsage: "unsupported" });
});

test("a plain chat request that is refused for stream_options teaches the same", async () => {
  const refusal = { status: 400, body: '{"error":{"message":"stream_options: not permitted"}}' };
  const { server, reported } = start({ [chat]: refusal });
  const heard = listen(server, { path: "/chat/completions", body: body() });
  await heard.closed;
  expect(heard).toMatchObject({ ...refusal, log: whole });
  expect(reported.at(-1)).toMatchObject({
    streamUsage: "unsupported",
    chatCompletions: "supported",
  });
});

test("refusals of chat pass as they are, also those that say 200", async () => {
  for (const reply of [
    { status: 400, body: '{"error":{"message":"too many tokens"}}' },
    { status: 503, body: "<html>" },
    { status: 429, body: "x".repeat(100_000) },
    { status: 200, body: '{"error":"no model loaded"}' },
    { status: 307, body: "" },
  ]) {
    const { server } = start({ [chat]: reply });
    const heard = await send(server);
    expect(heard).toMatchObject(reply);
    expect(heard.log.at(-2)).toBe("end");
  }
});

test("what has no counterpart in chat is refused here, and the provider gets no request", async () => {
  const { provider, server } = start({}, { declared: () => ({ openResponses: "unsupported" }) });
  const heard = listen(server, { body: body({ previous_response_id: "resp_1" }) });
  expect(heard.log).toEqual([]);
  await heard.closed;
  expect(heard).toMatchObject({ status: 400, log: whole });
  expect(JSON.parse(heard.body)).toEqual({
    error: {
      message: expect.any(String),
      type: "invalid_request_error",
      param: "previous_response_id",
      code: "previous_response_not_found",
    },
  });
  expect(provider.lines()).toEqual([]);
});

test.each([
  ["in a field of the server's own", `"top_k":${"[".repeat(100_000)}${"]".repeat(100_000)}`],
  ["in metadata", `"metadata":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
])("a request nested beyond all measure %s is refused here", async (_where, field) => {
  const { provider, server } = start({});
  const deep = [Buffer.from(`{"model":"m","input":"hi",${field}}`)];
  const heard = listen(server, { body: deep });
  await heard.closed;
  expect(heard).toMatchObject({ status: 400, log: whole });
  expect(heard.body).toContain("nested too deeply");
  expect(provider.lines()).toEqual([native]);
});

test.each<[string, Reply, string, string[]]>([
  ["no JSON at all", { body: "hello" }, "provider_invalid_response", []],
  ["no chat", { body: "{}" }, "provider_invalid_response", []],
  [
    "a stream without an end",
    { type: "event-stream", body: chatStream.slice(0, 3) },
    "provider_disconnected",
    ["head", "data"],
  ],
  [
    "a stream that is cut",
    {
      status: 200,
      type: "event-stream",
      body: chatStream.slice(0, 3),
      failure: { code: "provider_disconnected", message: "closed the connection" },
    },
    "provider_disconnected",
    ["head", "data"],
  ],
  [
    "a stream that is none",
    { type: "event-stream", body: ["data: <html>\n\n", "data: more\n\n"] },
    "provider_invalid_response",
    ["head", "data"],
  ],
  [
    "no listener",
    { failure: { code: "provider_unreachable", message: "refused" } },
    "provider_unreachable",
    [],
  ],
])("%s is a failure: %s", async (_what, reply, code, before) => {
  const { provider, server } = start({ [chat]: reply });
  const heard = await send(server, { stream: true });
  expect(heard.log).toEqual([...before, code, "closed"]);
  expect(provider.open).toBe(0);
});

test("a stream that is cut after its finish reason is whole", async () => {
  const failure = { code: "provider_disconnected", message: "reset" } as const;
  const { server } = start({
    [chat]: { status: 200, type: "event-stream", body: chatStream.slice(0, 4), failure },
  });
  const heard = await send(server, { stream: true });
  expect(heard.log).toEqual(whole);
  expect(eventTypes(heard.body)).toContain("response.completed");
});

test("a body that comes in pieces is collected and sent whole", async () => {
  const { provider, server } = start({ [chat]: { body: completion } });
  const heard = listen(server, { body: "streamed" });
  const whole = body()[0]!;
  for (const byte of whole) heard.call.writeBody(Buffer.from([byte]));
  expect(provider.lines()).toEqual([]);
  heard.call.endBody();
  await heard.closed;
  expect(heard.status).toBe(200);
  expect(provider.requests[0]?.body).toBe(whole.toString());
});

test("a body of more than 64 MiB in pieces is refused here", async () => {
  const { provider, server } = start({});
  const heard = listen(server, { body: "streamed" });
  const piece = Buffer.alloc(1024 * 1024);
  for (let count = 0; count < 66; count++) heard.call.writeBody(piece);
  heard.call.endBody();
  await heard.closed;
  expect(heard).toMatchObject({ status: 413, log: ["head", "data", "end", "closed"] });
  expect(heard.body).toContain("request_too_large");
  expect(provider.lines()).toEqual([]);
});

test("a body given whole is translated up to the limit, and beyond it only passed on as it is", async () => {
  const script = { [chat]: { body: completion } };
  const most = Buffer.concat(body()).length;
  const fits = start(script, { maxTranslatedBytes: most });
  expect(JSON.parse((await send(fits.server)).body)).toMatchObject({ object: "response" });
  const tooLong = start(script, { maxTranslatedBytes: most - 1 });
  expect(await send(tooLong.server)).toMatchObject({ status: 413 });
  expect(tooLong.provider.lines()).toEqual([native]);
  const whole = start({ [native]: response }, { maxTranslatedBytes: most - 1 });
  expect(await send(whole.server)).toMatchObject({ status: 200, body: response.body });
});

test("a server known to have responses gets a body in pieces as it comes", async () => {
  const { provider, server } = start({ [native]: response });
  await send(server);
  const heard = listen(server, { body: "streamed" });
  heard.call.writeBody(Buffer.from("a"));
  heard.call.endBody();
  await heard.closed;
  expect(provider.requests[1]?.body).toBe("a");
});

test("a server found by a look and confirmed by a response gets a body of any length as it comes", async () => {
  const script = { ...ollama("0.33.1"), [native]: response };
  const { provider, server } = start(script, { maxTranslatedBytes: 8 });
  await probe(server, provider);
  expect(server.capabilities.openResponses).toBe("supported");
  await send(server);
  const heard = listen(server, { body: "streamed" });
  heard.call.writeBody(Buffer.from("nine byte"));
  heard.call.endBody();
  await heard.closed;
  expect(heard.status).toBe(200);
  expect(provider.requests.at(-1)?.body).toBe("nine byte");
});

test("a reader that stands still pauses the provider, and gets every byte when it reads on", async () => {
  const words = Array.from({ length: 50 }, (_, index) => chunkOf({ content: `w${index} ` }, null));
  const stream = [...chatStream.slice(0, 1), ...words, ...chatStream.slice(3)];
  const { server } = start({ [chat]: { type: "event-stream", body: stream } });
  const reported = listen(start({ [chat]: { type: "event-stream", body: stream } }).server, {
    body: body({ stream: true }),
  });
  await reported.closed;
  const heard = listen(server, { body: body({ stream: true }) }, () => false);
  await heard.head;
  let resumes = 0;
  while (heard.log.at(-1) !== "closed") {
    const before = heard.body.length;
    heard.call.resume();
    resumes++;
    await new Promise((resolve) => setImmediate(resolve));
    const grown = heard.body.length - before;
    // One chunk and what it becomes, no more: the last holds the whole text again.
    if (heard.log.at(-1) === "data") expect(grown).toBeLessThan(8_000);
  }
  expect(heard.body).toBe(reported.body);
  expect(heard.log).toEqual(whole);
  expect(resumes).toBeGreaterThan(20);
});

const cancelPoints: Record<string, (all: ReturnType<typeof start>) => Promise<Heard>> = {
  "while the body is collected": ({ server }) =>
    Promise.resolve(listen(server, { body: "streamed" })),
  "before any byte of a response": ({ server }) =>
    Promise.resolve(listen(server, { body: body() })),
  "while a refusal of our own is due": ({ server }) =>
    Promise.resolve(listen(server, { body: body({ input: 7 }) })),
  "while chat gets the request": async ({ server, provider }) => {
    const heard = listen(server, { body: body() });
    await vi.waitFor(() => expect(provider.lines()).toContain(chat));
    return heard;
  },
  "in the middle of a stream": async ({ server }) => {
    const heard = listen(server, { body: body({ stream: true }) });
    await heard.head;
    return heard;
  },
};
for (const [when, reach] of Object.entries(cancelPoints)) {
  test(`a cancel ${when} closes the provider's socket and is the last but onClosed`, async () => {
    const all = start(({ line, body: text }) => {
      if (line === native) return undefined;
      const isStream = text.includes('"stream":true');
      return isStream
        ? { type: "event-stream", body: chatStream.slice(0, 2), hangs: "after-body" }
        : { hangs: "before-head" };
    });
    const heard = await reach(all);
    heard.call.cancel();
    heard.call.cancel();
    const before = heard.log.length;
    expect(heard.log).not.toContain("closed");
    await heard.closed;
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard.log.slice(before)).toEqual(["closed"]);
    expect(all.provider.open).toBe(0);
  });
}

test("a cancel while the response waits for the reader drops the rest", async () => {
  const { server, provider } = start({ [chat]: { body: completion } });
  const heard = listen(server, { body: body() }, () => false);
  await vi.waitFor(() => expect(heard.log).toEqual(["head", "data"]));
  await vi.waitFor(() => expect(provider.open).toBe(0));
  heard.call.cancel();
  await heard.closed;
  expect(heard.log).toEqual(["head", "data", "closed"]);
});

test.each([
  ["/embeddings", "embeddings"],
  ["/completions", "completions"],
  ["/responses/compact", "responsesCompact"],
  ["/responses/input_tokens", "responsesInputTokens"],
] as const)("%s: a 404 passes and is remembered as what the server has not", async (path, name) => {
  const { server, reported } = start({});
  const heard = listen(server, { path, body: body() });
  await heard.closed;
  expect(heard).toMatchObject({ status: 404, body: "404 page not found", log: whole });
  expect(reported.at(-1)).toMatchObject({ [name]: "unsupported" });
});

test.each([
  ["GET", "/responses/resp_1"],
  ["DELETE", "/responses/resp_1"],
])("%s %s: a 404 says nothing of the surface", async (method, path) => {
  const { server, reported, provider } = start({});
  const heard = listen(server, { method, path });
  await heard.closed;
  expect(heard.status).toBe(404);
  expect(provider.lines()).toEqual([`${method} /v1${path}`]);
  expect(reported).toEqual([]);
});

test("one no of a server that has it makes it uncertain, not lost", async () => {
  let reply: Reply = response;
  const { provider, server } = start({
    get [native]() {
      return reply;
    },
    [chat]: { body: completion },
  });
  await send(server);
  reply = { status: 404, body: "missing" };
  expect((await send(server)).body).toBe("missing");
  expect(server.capabilities.openResponses).toBe("unknown");
  expect(JSON.parse((await send(server)).body)).toMatchObject({ object: "response" });
  expect(provider.lines()).toEqual([native, native, native, chat]);
});

test("an error in place of a result is noticed also once the surface has responded, whole or in pieces", async () => {
  const path = "/embeddings";
  for (const pieces of [[unexpected.body as string], ['{"error":"Unexp', 'ected endpoint"}']]) {
    let reply: Reply = { body: '{"data":[]}' };
    const { server } = start(() => reply);
    const askEmbeddings = () => listen(server, { path, body: [Buffer.from("{}")] }).closed;
    await askEmbeddings();
    expect(server.capabilities.embeddings).toBe("supported");
    reply = { body: '{"data":["an \\"error\\""]}' };
    await askEmbeddings();
    expect(server.capabilities.embeddings).toBe("supported");
    reply = { body: pieces };
    await askEmbeddings();
    expect(server.capabilities.embeddings).toBe("unknown");
  }
});

const models: Reply = { body: '{"object":"list","data":[{"id":"m","owned_by":"library"}]}' };
const ollama = (version: string): Record<string, Reply> => ({
  "GET /v1/models": models,
  "GET /api/version": { body: JSON.stringify({ version }) },
});
const lookedAt = ["GET /v1/models", "GET /api/version"];

test("what a look found is put to the test by the first request: a gateway may pass only chat", async () => {
  const { provider, server } = start({ ...ollama("0.33.1"), [chat]: { body: completion } });
  await probe(server, provider);
  expect(server.capabilities.openResponses).toBe("supported");
  expect(JSON.parse((await send(server)).body)).toMatchObject({ object: "response" });
  expect(provider.lines().slice(-2)).toEqual([native, chat]);
});

/** the models that Ollama has loaded */
const loaded = "GET /api/ps";

test("a server is looked at after its first probe, and not at the next ones", async () => {
  const { provider, server, reported } = start(ollama("0.13.0"));
  for (let count = 0; count < 3; count++) await probe(server, provider);
  expect(provider.lines()).toEqual([...lookedAt, loaded, "GET /v1/models", "GET /v1/models"]);
  expect(reported).toHaveLength(1);
  expect(server.capabilities).toMatchObject({
    openResponses: "supported",
    storedResponses: "unsupported",
  });
});

test.each<[string, Reply]>([
  ["was away", { failure: { code: "provider_unreachable", message: "refused" } }],
  ["was hidden behind a gateway's error", { status: 502, body: "<html>" }],
])("a server that %s is looked at again: it may be another", async (_how, absence) => {
  let script = ollama("0.13.0");
  const { provider, server } = start((requested) => script[requested.line]);
  await probe(server, provider);
  script = { "GET /v1/models": absence };
  await probe(server, provider);
  script = { ...ollama("0.15.0"), [native]: response };
  await probe(server, provider);
  expect(provider.lines()).toEqual([
    ...lookedAt,
    loaded,
    "GET /v1/models",
    ...lookedAt,
    "POST /v1/responses/compact",
    "POST /v1/responses/input_tokens",
    loaded,
  ]);
  expect(server.capabilities).toMatchObject({ messages: "supported" });
  await send(server);
  expect(provider.lines().at(-1)).toBe(native);
});

test("a server that a request did not reach is looked at again with the next probe", async () => {
  const failure = { code: "provider_unreachable", message: "refused" } as const;
  const { provider, server } = start({ ...ollama("0.13.0"), [chat]: { failure } });
  await probe(server, provider);
  await listen(server, { path: "/chat/completions", body: body() }).closed;
  await probe(server, provider);
  const lines = provider.lines().filter((line) => line !== loaded);
  expect(lines).toEqual([...lookedAt, chat, ...lookedAt]);
});

test("a chat request that received a 404 is not taken for missing before the server was looked at again", async () => {
  let isHidden = false;
  const { provider, server } = start((requested) => {
    if (requested.line === "GET /v1/models") return { body: '{"data":[{"id":"m"}]}' };
    if (requested.line !== chat || isHidden) return undefined;
    return requested.body === "{}" ? { status: 400, body: "{}" } : { body: completion };
  });
  isHidden = true;
  await listen(server, { path: "/chat/completions", body: body() }).closed;
  expect(server.capabilities.chatCompletions).toBe("unknown");
  isHidden = false;
  await probe(server, provider);
  expect(server.capabilities.chatCompletions).toBe("supported");
  isHidden = true;
  await listen(server, { path: "/chat/completions", body: body() }).closed;
  expect(server.capabilities.chatCompletions).toBe("unknown");
  isHidden = false;
  await probe(server, provider);
  expect(server.capabilities.chatCompletions).toBe("supported");
});

test("a 501 makes a surface unsupported at once, and a server known to have it is looked at again", async () => {
  const message = "This server does not support embeddings. Start it with `--embeddings`";
  const notImplemented: Reply = { status: 501, body: JSON.stringify({ error: { message } }) };
  const { provider, server } = start({
    ...ollama("0.15.0"),
    "POST /v1/embeddings": notImplemented,
    "POST /v1/completions": notImplemented,
    [chat]: notImplemented,
  });
  await listen(server, { path: "/embeddings", body: body() }).closed;
  expect(server.capabilities.embeddings).toBe("unsupported");
  await probe(server, provider);
  expect(server.capabilities.completions).toBe("supported");
  await listen(server, { path: "/completions", body: body() }).closed;
  expect(server.capabilities.completions).toBe("unsupported");
  await probe(server, provider);
  expect(server.capabilities.completions).toBe("supported");
  await listen(server, { path: "/chat/completions", body: body() }).closed;
  expect(server.capabilities.chatCompletions).toBe("unsupported");
  await probe(server, provider);
  expect(server.capabilities.chatCompletions).toBe("supported");
});

test("what is declared is reported as it is, and a false word is helped by translation", async () => {
  const declared = {
    openResponses: "supported",
    embeddings: "unsupported",
    chatCompletions: "unknown",
  };
  const { provider, server } = start(
    { ...ollama("0.13.0"), [chat]: { body: completion } },
    { declared: () => declared },
  );
  expect(server.capabilities).toMatchObject({ openResponses: "supported" });
  await probe(server, provider);
  expect(server.capabilities).toMatchObject({
    openResponses: "supported",
    embeddings: "unsupported",
    chatCompletions: "supported",
  });
  expect((await send(server)).status).toBe(200);
  expect(provider.lines().slice(2)).toEqual([loaded, chat]);
});
