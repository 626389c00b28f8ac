import { createSseReader } from "@roomhub/protocol";
import { expect, test } from "vitest";
import {
  type ResponseEnd,
  type ChatSurface,
  readStreamedResponse,
  readJsonResponse,
} from "../chat/response-reader.ts";
import { startDemoProvider } from "./demo-provider.ts";

interface ResponsesEvent {
  type: string;
  sequence_number: number;
  delta?: string;
  response: { output: { content: { text: string }[] }[]; usage: { output_tokens: number } };
}

const options = { wordMs: 0 };

async function post(endpoint: string, path: string, body: unknown): Promise<Response> {
  return fetch(`${endpoint}/${path}`, { method: "POST", body: JSON.stringify(body) });
}

async function read(response: Response, surface: ChatSurface): Promise<[string, ResponseEnd]> {
  let text = "";
  const listener = { onText: (part: string) => (text += part), onReasoning: () => {} };
  const end = response.headers.get("content-type")?.startsWith("text/event-stream")
    ? await readStreamedResponse(response.body!, surface, listener)
    : readJsonResponse(await response.text(), surface, listener);
  return [text, end];
}

test.each<[ChatSurface, string, object]>([
  ["chat", "chat/completions", { messages: [{ role: "user", content: "Hi there" }] }],
  ["responses", "responses", { input: "Hi there" }],
])(
  "the demo model identifies itself on the %s surface, streamed and not",
  async (surface, path, ask) => {
    await using demo = await startDemoProvider(options);
    for (const stream of [true, false]) {
      const response = await post(demo.endpoint, path, { model: "demo", stream, ...ask });
      const [text, end] = await read(response, surface);
      expect(text).toContain("demo model, not a language model");
      expect(text).toContain('Your prompt: "Hi there"');
      expect(text).toMatch(/as soon as one runs on the host.s machine/);
      expect(end.kind).toBe("complete");
    }
  },
);

test("the demo model lists itself", async () => {
  await using demo = await startDemoProvider(options);
  const list = await (await fetch(`${demo.endpoint}/models`)).json();
  expect(list).toMatchObject({ object: "list", data: [{ id: "demo", object: "model" }] });
});

test("a chat stream has a usage chunk of its own only when requested, and ends with a reason and [DONE]", async () => {
  await using demo = await startDemoProvider(options);
  for (const include_usage of [true, false]) {
    const ask = { messages: [], stream: true, stream_options: { include_usage } };
    const text = await (await post(demo.endpoint, "chat/completions", ask)).text();
    const frames = dataOf(text);
    expect(frames.at(-1)).toBe("[DONE]");
    const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame) as Record<string, unknown>);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks.filter(({ usage }) => usage !== undefined)).toHaveLength(1);
    expect(chunks.some(({ choices }) => (choices as object[]).length === 0)).toBe(include_usage);
    expect(text).toContain('"finish_reason":"stop"');
  }
});

test("a responses stream counts its events and repeats the whole text at the end", async () => {
  await using demo = await startDemoProvider(options);
  const text = await (await post(demo.endpoint, "responses", { input: "x", stream: true })).text();
  const events = dataOf(text).map((frame) => JSON.parse(frame) as ResponsesEvent);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, i) => i));
  expect(events[0]!.type).toBe("response.created");
  const last = events.at(-1)!;
  expect(last.type).toBe("response.completed");
  const deltas = events.filter(({ type }) => type === "response.output_text.delta");
  expect(last.response.output[0]!.content[0]!.text).toBe(deltas.map(({ delta }) => delta).join(""));
  expect(last.response.usage.output_tokens).toBe(deltas.length);
});

test.each([
  ["chat/completions", { messages: [], max_tokens: 3 }, '"finish_reason":"length"'],
  ["responses", { input: "x", max_output_tokens: 3 }, '"status":"incomplete"'],
])("a token limit on %s truncates the reply and reports it", async (path, ask, sign) => {
  await using demo = await startDemoProvider(options);
  expect(await (await post(demo.endpoint, path, ask)).text()).toContain(sign);
});

test.each([
  ["chat/completions", "{", 400],
  ["embeddings", "{}", 404],
])("%s with the body %s responds with %i as JSON", async (path, body, status) => {
  await using demo = await startDemoProvider(options);
  const response = await fetch(`${demo.endpoint}/${path}`, { method: "POST", body });
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
});

function dataOf(text: string): string[] {
  const frames: string[] = [];
  createSseReader(({ data }) => frames.push(data)).feed(text);
  return frames;
}
