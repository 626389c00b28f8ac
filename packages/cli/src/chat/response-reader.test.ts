import { expect, test } from "vitest";
import { type ResponseEnd, type ChatSurface, readStreamedResponse } from "./response-reader.ts";

async function read(
  text: string,
  surface: ChatSurface,
  cut = text.length,
): Promise<ResponseEnd & { text: string; reasoning: string }> {
  const bytes = Buffer.from(text);
  const seen = { text: "", reasoning: "" };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes.subarray(0, cut));
      controller.enqueue(bytes.subarray(cut));
      controller.close();
    },
  });
  const end = await readStreamedResponse(body, surface, {
    onText: (part) => (seen.text += part),
    onReasoning: (part) => (seen.reasoning += part),
  });
  return { ...end, ...seen };
}

const delta = (content: string) => `data: {"choices":[{"delta":{"content":"${content}"}}]}\n\n`;

test("a response is read the same when split at any byte", async () => {
  const stream = `: keepalive\n\n${delta("Grüße")}${delta(" 🙂")}data: [DONE]\n\n`;
  for (let cut = 0; cut <= Buffer.byteLength(stream); cut++) {
    expect(await read(stream, "chat", cut)).toMatchObject({ kind: "complete", text: "Grüße 🙂" });
  }
});

test.each<[string, ChatSurface, string, Partial<ResponseEnd>]>([
  ["[DONE]", "chat", "data: [DONE]\n\n", { kind: "complete" }],
  [
    "a finish reason",
    "chat",
    'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n',
    { kind: "complete", isCut: false },
  ],
  [
    "a finish reason of its length limit",
    "chat",
    'data: {"choices":[{"delta":{},"finish_reason":"length"}]}\n\n',
    { kind: "complete", isCut: true },
  ],
  [
    "response.incomplete",
    "responses",
    'data: {"type":"response.incomplete","response":{}}\n\n',
    { kind: "complete", isCut: true },
  ],
  ["nothing", "chat", delta("a"), { kind: "failed" }],
  [
    "an error frame and [DONE]",
    "chat",
    'data: {"error":{"message":"lost","code":"tunnel_lost"}}\n\ndata: [DONE]\n\n',
    { kind: "failed", message: "lost", code: "tunnel_lost" },
  ],
  ["an error as text", "chat", 'data: {"error":"lost"}\n\n', { kind: "failed", message: "lost" }],
  [
    "response.completed",
    "responses",
    'data: {"type":"response.completed","response":{"usage":{"total_tokens":2}}}\n\n',
    { kind: "complete" },
  ],
  ["only [DONE]", "responses", "data: [DONE]\n\n", { kind: "failed" }],
  [
    "an error event",
    "responses",
    'event: error\ndata: {"type":"error","error":{"message":"lost","code":"c"},"code":"c","message":"lost"}\n\n',
    { kind: "failed", message: "lost", code: "c" },
  ],
  [
    "a flat error event",
    "responses",
    'data: {"type":"error","message":"lost","code":"c"}\n\n',
    { kind: "failed", message: "lost", code: "c" },
  ],
  [
    "response.failed",
    "responses",
    'data: {"type":"response.failed","response":{"error":{"message":"lost","code":"c"}}}\n\n',
    { kind: "failed", message: "lost" },
  ],
  ["null and rubbish", "chat", "data: null\n\ndata: {\n\ndata: 3\n\n", { kind: "failed" }],
])("a stream that ends with %s on the %s surface ends so", async (_name, surface, stream, end) => {
  expect(await read(stream, surface)).toMatchObject(end);
});

test("reasoning is separate from text", async () => {
  const stream =
    'data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}\n\n' +
    delta("yes") +
    "data: [DONE]\n\n";
  expect(await read(stream, "chat")).toMatchObject({ text: "yes", reasoning: "hm" });
});
