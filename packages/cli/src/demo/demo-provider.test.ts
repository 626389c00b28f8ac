import { createSseReader, systemWorld } from "@roomhub/protocol";
import { expect, test } from "vitest";
import {
  readJsonResponse,
  readStreamedResponse,
  type ResponseEnd,
} from "../chat/response-reader.ts";
import { startDemoProvider } from "./demo-provider.ts";

const options = { wordMs: 0 };

async function post(endpoint: string, path: string, body: unknown): Promise<Response> {
  return fetch(`${endpoint}/${path}`, { method: "POST", body: JSON.stringify(body) });
}

async function read(response: Response): Promise<[string, ResponseEnd]> {
  let text = "";
  const listener = { onText: (part: string) => (text += part), onReasoning: () => {} };
  const end = response.headers.get("content-type")?.startsWith("text/event-stream")
    ? await readStreamedResponse(response.body!, "chat", listener)
    : readJsonResponse(await response.text(), "chat", listener);
  return [text, end];
}

test("the demo model identifies itself, streamed and not", async () => {
  await using demo = await startDemoProvider(systemWorld, options);
  const messages = [{ role: "user", content: "Hi there" }];
  for (const stream of [true, false]) {
    const body = { model: "demo", stream, messages };
    const [text, end] = await read(await post(demo.endpoint, "chat/completions", body));
    expect(text).toContain("demo model, not a language model");
    expect(text).toContain('Your prompt: "Hi there"');
    expect(text).toMatch(/as soon as one runs on the host.s machine/);
    expect(end.kind).toBe("complete");
  }
});

test("the demo model lists itself", async () => {
  await using demo = await startDemoProvider(systemWorld, options);
  const list = await (await fetch(`${demo.endpoint}/models`)).json();
  expect(list).toMatchObject({ object: "list", data: [{ id: "demo", object: "model" }] });
});

test("a chat stream has a usage chunk of its own only when requested, and ends with a reason and [DONE]", async () => {
  await using demo = await startDemoProvider(systemWorld, options);
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

test("a token limit truncates the reply and reports it", async () => {
  await using demo = await startDemoProvider(systemWorld, options);
  const body = { messages: [], max_tokens: 3 };
  const text = await (await post(demo.endpoint, "chat/completions", body)).text();
  expect(text).toContain('"finish_reason":"length"');
});

test.each([
  ["chat/completions", "{", 400],
  ["responses", "{}", 404],
])("%s with the body %s responds with %i as JSON", async (path, body, status) => {
  await using demo = await startDemoProvider(systemWorld, options);
  const response = await fetch(`${demo.endpoint}/${path}`, { method: "POST", body });
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
});

function dataOf(text: string): string[] {
  const frames: string[] = [];
  createSseReader(({ data }) => frames.push(data)).feed(text);
  return frames;
}
