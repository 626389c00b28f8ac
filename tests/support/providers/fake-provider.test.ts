import { connect } from "node:net";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { type Behaviour, startFakeProvider } from "./fake-provider.ts";

const messages = [{ role: "user" as const, content: "one two three" }];
const input = "one two three";
const model = "fake-model";
const parameters = { type: "object", properties: { city: { type: "string" } } };

function clientOf(provider: { url: string }, apiKey = "any"): OpenAI {
  return new OpenAI({ baseURL: provider.url, apiKey, maxRetries: 0 });
}

/** A provider that does the same with every generation. */
function start(behaviour?: Behaviour) {
  return startFakeProvider({ behave: () => behaviour });
}

async function post(provider: { url: string }, path: string, body: object): Promise<Response> {
  return fetch(`${provider.url}/${path}`, {
    method: "POST",
    body: JSON.stringify({ model, ...body }),
  });
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

test("a chat completion repeats the user's words and counts them", async () => {
  await using provider = await start();
  const completion = await clientOf(provider).chat.completions.create({ model, messages });
  expect(completion.choices[0]).toMatchObject({
    message: { role: "assistant", content: "one two three" },
    finish_reason: "stop",
  });
  expect(completion.usage).toMatchObject({
    prompt_tokens: 3,
    completion_tokens: 3,
    total_tokens: 6,
  });
});

test("a streamed chat completion arrives word by word, with usage only on request", async () => {
  await using provider = await start();
  const client = clientOf(provider);
  for (const isAsked of [true, false]) {
    const stream = await client.chat.completions.create({
      model,
      messages,
      stream: true,
      ...(isAsked ? { stream_options: { include_usage: true } } : {}),
    });
    const chunks = await collect(stream);
    const words = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "");
    expect(words.filter(Boolean)).toEqual(["one", " two", " three"]);
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason).filter(Boolean)).toEqual([
      "stop",
    ]);
    expect(chunks.at(-1)?.usage?.total_tokens).toBe(isAsked ? 6 : undefined);
  }
});

test("a response repeats the input", async () => {
  await using provider = await start();
  const response = await clientOf(provider).responses.create({
    model,
    input,
    instructions: "echo",
  });
  expect(response.output_text).toBe("one two three");
  expect(response).toMatchObject({ status: "completed", instructions: "echo", error: null });
  expect(response.usage).toMatchObject({ input_tokens: 3, output_tokens: 3, total_tokens: 6 });
});

test("a streamed response has every event of its kind, numbered from 0", async () => {
  await using provider = await start();
  const stream = await clientOf(provider).responses.create({ model, input, stream: true });
  const events = await collect(stream);
  expect(events.map(({ type }) => type.replace("response.", ""))).toEqual([
    "created",
    "in_progress",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.delta",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "completed",
  ]);
  expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()]);
  const last = events.at(-1);
  expect(last?.type === "response.completed" && last.response.usage?.total_tokens).toBe(6);
});

test("the SDK's own accumulators understand both streams", async () => {
  await using provider = await start();
  const client = clientOf(provider);
  const chat = client.chat.completions.stream({ model, messages });
  expect(await chat.finalContent()).toBe("one two three");
  const response = await client.responses.stream({ model, input }).finalResponse();
  expect(response.output_text).toBe("one two three");
});

test.each([false, true])(
  "chat calls the given tool and then repeats its result (stream: %s)",
  async (isStream) => {
    await using provider = await start();
    const { completions } = clientOf(provider).chat;
    const tools = [{ type: "function" as const, function: { name: "weather", parameters } }];
    const request = { model, messages, tools };
    const completion = isStream
      ? await completions.stream(request).finalChatCompletion()
      : await completions.create(request);
    const message = completion.choices[0]!.message;
    expect(completion.choices[0]?.finish_reason).toBe("tool_calls");
    expect(message.tool_calls).toMatchObject([
      { function: { name: "weather", arguments: '{"city":"one two three"}' } },
    ]);
    const result = {
      role: "tool" as const,
      tool_call_id: message.tool_calls![0]!.id,
      content: "rain",
    };
    const next = await completions.create({
      model,
      tools,
      messages: [...messages, message, result],
    });
    expect(next.choices[0]?.message.content).toBe("rain");
  },
);

test.each([false, true])(
  "responses call the given tool and then repeat its result (stream: %s)",
  async (isStream) => {
    await using provider = await start();
    const { responses } = clientOf(provider);
    const tools = [{ type: "function" as const, name: "weather", parameters, strict: true }];
    const request = { model, input, tools };
    const response = isStream
      ? await responses.stream(request).finalResponse()
      : await responses.create(request);
    const call = response.output[0]!;
    expect(call).toMatchObject({
      type: "function_call",
      name: "weather",
      arguments: '{"city":"one two three"}',
    });
    const call_id = call.type === "function_call" ? call.call_id : "";
    const output = { type: "function_call_output" as const, call_id, output: "rain" };
    const next = await responses.create({ model, tools, input: [output] });
    expect(next.output_text).toBe("rain");
  },
);

test("models, completions and embeddings respond in the SDK's shapes", async () => {
  await using provider = await startFakeProvider({ model: "llama3" });
  const client = clientOf(provider);
  const models = await collect(client.models.list());
  expect(models.map(({ id }) => id)).toEqual(["llama3"]);
  expect((await client.models.retrieve("llama3")).object).toBe("model");
  const completion = await client.completions.create({ model: "llama3", prompt: input });
  expect(completion.choices[0]?.text).toBe("one two three");
  const stream = await client.completions.create({ model: "llama3", prompt: input, stream: true });
  const chunks = await collect(stream);
  expect(chunks.map((chunk) => chunk.choices[0]?.text).join("")).toBe("one two three");
  const embeddings = await client.embeddings.create({ model: "llama3", input: ["a", "bb"] });
  expect(embeddings.data.map(({ embedding }) => embedding[0])).toEqual([1, 2]);
  expect(embeddings.data[0]?.embedding).toHaveLength(8);
});

test("a token limit cuts the response short and sets the finish reason", async () => {
  await using provider = await start();
  const client = clientOf(provider);
  const completion = await client.chat.completions.create({ model, messages, max_tokens: 2 });
  expect(completion.choices[0]).toMatchObject({
    message: { content: "one two" },
    finish_reason: "length",
  });
  const response = await client.responses.create({ model, input, max_output_tokens: 2 });
  expect(response).toMatchObject({
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
  });
});

test("a strict provider refuses other models, and one with a key other keys", async () => {
  await using provider = await startFakeProvider({ strictModel: true, apiKey: "sk-right" });
  const right = clientOf(provider, "sk-right").chat.completions;
  await expect(right.create({ model: "other", messages })).rejects.toMatchObject({ status: 400 });
  await expect(right.create({ model, messages })).resolves.toBeDefined();
  const wrong = clientOf(provider, "sk-wrong").chat.completions;
  await expect(wrong.create({ model, messages })).rejects.toMatchObject({ status: 401 });
});

test("requests are recorded with their bytes and headers", async () => {
  await using provider = await start();
  await fetch(`${provider.url}/chat/completions?x=1`, {
    method: "POST",
    headers: { "X-Own": "yes" },
    body: '{ "model":"fake-model" }',
  });
  expect(provider.requests).toHaveLength(1);
  expect(provider.requests[0]).toMatchObject({ method: "POST", path: "/v1/chat/completions?x=1" });
  expect(provider.requests[0]?.headers["x-own"]).toBe("yes");
  expect(provider.requests[0]?.body.toString()).toBe('{ "model":"fake-model" }');
});

test("a client that goes away is counted, whatever the provider was doing", async () => {
  const never = new Promise<void>(() => {});
  const behaviours: Behaviour[] = [
    { kind: "hang" },
    { kind: "hang-mid-stream" },
    { kind: "normal", gate: never },
    { kind: "normal", gate: never, gateAfterChunks: 2 },
    { kind: "normal", chunkDelayMs: 60_000 },
    { kind: "slow-head", delayMs: 60_000 },
    { kind: "normal", words: 200_000 },
  ];
  await using provider = await startFakeProvider({ behave: () => behaviours[provider.aborted] });
  for (const index of behaviours.keys()) {
    const leaving = new AbortController();
    const body = JSON.stringify({ model, messages, stream: true });
    const answer = fetch(`${provider.url}/chat/completions`, {
      method: "POST",
      body,
      signal: leaving.signal,
    });
    answer.catch(() => {});
    await provider.waitFor(({ openGenerations }) => openGenerations === 1);
    leaving.abort();
    await provider.waitFor(({ aborted }) => aborted === index + 1);
    expect(provider.openGenerations).toBe(0);
    expect(provider.requests[index]?.state).toBe("gone");
  }
});

test("a gate holds the head back, or the stream after some chunks", async () => {
  for (const gateAfterChunks of [undefined, 2]) {
    let open = () => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    await using provider = await start({ kind: "normal", gate, gateAfterChunks });
    const answer = post(provider, "chat/completions", { messages, stream: true });
    await provider.waitFor(({ requests }) => requests[0]?.chunksSent === (gateAfterChunks ?? 0));
    open();
    expect(await (await answer).text()).toMatch(/\[DONE\]\n\n$/);
    expect(provider.aborted).toBe(0);
  }
});

test.each<[Behaviour, RegExp]>([
  [{ kind: "no-marker" }, /" three"[^\n]*\n\n$/],
  [{ kind: "no-done" }, /^(?!.*\[DONE\]).*"finish_reason":"stop"/s],
  [{ kind: "crlf" }, /^(?:data: [^\r\n]+\r\n\r\n)+$/],
  [{ kind: "byte-by-byte" }, /data: \[DONE\]\n\n$/],
  [{ kind: "error-200" }, /^\{"error":"Unexpected endpoint"\}$/],
  [{ kind: "usage-absent" }, /^(?!.*usage)/s],
])("a stream with %j looks like that", async (behaviour, expected) => {
  await using provider = await start(behaviour);
  const body = { messages, stream: true, stream_options: { include_usage: true } };
  const answer = await post(provider, "chat/completions", body);
  expect(answer.status).toBe(200);
  expect(await answer.text()).toMatch(expected);
  expect(provider.requests[0]?.state).toBe("ended");
});

test.each(["chat/completions", "responses"])(
  "one event of %s has exactly the bytes asked for",
  async (path) => {
    await using provider = await start({ kind: "big-event", bytes: 100_000 });
    const answer = await post(provider, path, { messages, input, stream: true });
    const sizes = (await answer.text()).split("\n\n").map((event) => event.length + 2);
    expect(sizes).toContain(100_000);
  },
);

test("a JSON response has exactly the requested number of bytes", async () => {
  await using provider = await start({ kind: "big-json", bytes: 100_000 });
  const answer = await post(provider, "responses", { input });
  expect((await answer.arrayBuffer()).byteLength).toBe(100_000);
});

test("a cut stream and a cut JSON response break off, and no client disconnected", async () => {
  await using provider = await startFakeProvider({
    behave: ({ json }) => ({ kind: "cut", afterChunks: 3, reset: json["stream"] === false }),
  });
  for (const stream of [true, false]) {
    const answer = await post(provider, "chat/completions", { messages, stream });
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow("terminated");
  }
  await provider.waitFor(({ openGenerations }) => openGenerations === 0);
  expect(provider.requests.map(({ chunksSent }) => chunksSent)).toEqual([3, 1]);
  expect(provider.aborted).toBe(0);
});

test("a status comes with its body and headers", async () => {
  const headers = { "retry-after": "7" };
  await using provider = await start({
    kind: "status",
    status: 429,
    body: { error: "slow" },
    headers,
  });
  const answer = await post(provider, "chat/completions", { messages });
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "7"]);
  expect(await answer.json()).toEqual({ error: "slow" });
});

test.each([false, true])("raw bytes arrive as they are (kept open: %s)", async (keepOpen) => {
  await using provider = await start({ kind: "raw", bytes: "HTTP/9.9 garbage\r\n", keepOpen });
  const socket = connect(provider.port, "127.0.0.1");
  socket.write("POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}");
  const received: string[] = [];
  for await (const chunk of socket) {
    received.push(String(chunk));
    if (keepOpen) break;
  }
  expect(received.join("")).toBe("HTTP/9.9 garbage\r\n");
  await provider.waitFor(({ openGenerations }) => openGenerations === 0);
  expect(provider.aborted).toBe(keepOpen ? 1 : 0);
});

test("a reader that stops stops the provider", async () => {
  await using provider = await start({ kind: "normal", words: 200_000 });
  const answer = await post(provider, "chat/completions", { messages, stream: true });
  await provider.waitFor(({ requests }) => requests[0]!.bytesSent > 100_000);
  await answer.body?.cancel();
  await provider.waitFor(({ aborted }) => aborted === 1);
  expect(provider.requests[0]?.chunksSent).toBeLessThan(200_000);
});

test("closing ends what is open, and a wait in vain names what it waited for", async () => {
  const provider = await start({ kind: "hang" });
  const answer = post(provider, "responses", { input });
  await provider.waitFor(({ openGenerations }) => openGenerations === 1);
  await expect(provider.waitFor(({ aborted }) => aborted === 5, 10)).rejects.toThrow(
    /aborted === 5.*\/v1\/responses answering/,
  );
  await provider.close();
  await expect(answer).rejects.toThrow("fetch failed");
});
