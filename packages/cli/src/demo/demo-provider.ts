import { pause, type World } from "@roomhub/protocol";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../local-server.ts";
import { reasonOf } from "../terminal/text.ts";

/** The name the demo model is served under. */
export const demoModel = "demo";

export interface DemoProviderOptions {
  /** Pause between two words, ms. Default 40. */
  wordMs?: number | undefined;
}

/** One frame of a stream, as sent. */
interface DemoFrame {
  text: string;
  /** A word is sent after a pause. */
  isWord: boolean;
}

const maxBodyBytes = 64 * 1024 * 1024;

/**
 * An OpenAI-compatible server on a free loopback port that responds with a text about itself, so that a room can be tried
 * without a model on the machine. It never pretends to be a model. It has chat completions alone: its participant translates
 * other requests, as for any server.
 */
export async function startDemoProvider(world: World, options: DemoProviderOptions = {}) {
  const server = createServer((request, response) => {
    respond(world, request, response, options).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, 400, reasonOf(error));
    });
  });
  const { port, close } = await listen(server, "127.0.0.1", 0);
  return { endpoint: `http://127.0.0.1:${port}/v1`, close, [Symbol.asyncDispose]: close };
}

async function respond(
  world: World,
  request: IncomingMessage,
  response: ServerResponse,
  options: DemoProviderOptions,
): Promise<void> {
  const route = `${request.method} ${(request.url ?? "").split("?", 1)[0]}`;
  switch (route) {
    case "GET /v1/models": {
      const model = { id: demoModel, object: "model", created: 1_700_000_000, owned_by: "roomhub" };
      return sendJson(response, 200, { object: "list", data: [model] });
    }
    case "POST /v1/chat/completions": {
      const parsed = await readRequest(request);
      const reply = compose(world, parsed);
      if (!parsed.isStream) return sendJson(response, 200, chatBody(reply));
      return stream(world, response, chatChunks(reply, parsed.includesUsage), options);
    }
    default:
      return sendError(response, 404, `There is nothing at ${route}`);
  }
}

/** Writes one frame per word, as a model would; stops when the client disconnects. */
async function stream(
  world: World,
  response: ServerResponse,
  frames: Iterable<DemoFrame>,
  { wordMs = 40 }: DemoProviderOptions,
): Promise<void> {
  const disconnected = new AbortController();
  response.once("close", () => disconnected.abort());
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  for (const { text, isWord } of frames) {
    if (isWord && wordMs > 0) await pause(world, wordMs, disconnected.signal);
    if (disconnected.signal.aborted) return;
    response.write(text);
  }
  response.end();
}

/** The demo model's reply; every word counts as one token. */
type DemoReply = ReturnType<typeof compose>;

function compose(world: World, request: Awaited<ReturnType<typeof readRequest>>) {
  const excerpt = request.prompt.replace(/\s+/g, " ").trim().slice(0, 80);
  const text = [
    "This is roomhub's built-in demo model, not a language model:",
    "it responds to every request with this text, so that you can try rooms, streaming and events.",
    excerpt === "" ? "" : `Your prompt: "${excerpt}".`,
    "A real model takes its place as soon as one runs on the host's machine, for example after `ollama run llama3.2`.",
  ]
    .filter((part) => part !== "")
    .join(" ");
  const words = text.split(/(?<= )/);
  const shown = request.maxTokens === undefined ? words : words.slice(0, request.maxTokens);
  return {
    id: `chatcmpl_${world.randomUUID().replaceAll("-", "")}`,
    model: demoModel,
    /** With their trailing spaces. */
    words: shown,
    /** Whether the request's token limit truncated it. */
    isCut: shown.length < words.length,
    inputTokens: Math.max(1, request.prompt.split(/\s+/).filter((word) => word !== "").length),
    createdSeconds: Math.floor(world.wallMs() / 1000),
  };
}

/** A chat completion that is not streamed. */
function chatBody(reply: DemoReply): object {
  const message = { role: "assistant", content: reply.words.join("").trimEnd(), refusal: null };
  return {
    ...chatHead(reply, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(reply) }],
    usage: chatUsage(reply),
  };
}

/**
 * A chat completion, streamed. Usage has a separate chunk when it was requested; else the last chunk with a choice
 * carries it, because some clients fail on an unrequested chunk without choices.
 */
function* chatChunks(reply: DemoReply, includesUsage: boolean): Generator<DemoFrame> {
  const head = chatHead(reply, "chat.completion.chunk");
  const choice = (delta: object, finish_reason: string | null) => [
    { index: 0, delta, logprobs: null, finish_reason },
  ];
  const frame = (chunk: object, isWord = false): DemoFrame => ({
    text: `data: ${JSON.stringify(chunk)}\n\n`,
    isWord,
  });
  yield frame({ ...head, choices: choice({ role: "assistant", content: "" }, null) });
  for (const word of reply.words) {
    yield frame({ ...head, choices: choice({ content: word }, null) }, true);
  }
  const usage = chatUsage(reply);
  const last = { ...head, choices: choice({}, finishReason(reply)) };
  if (includesUsage) {
    yield frame(last);
    yield frame({ ...head, choices: [], usage });
  } else {
    yield frame({ ...last, usage });
  }
  yield { text: "data: [DONE]\n\n", isWord: false };
}

function chatHead(reply: DemoReply, object: string): object {
  return {
    id: reply.id,
    object,
    created: reply.createdSeconds,
    model: reply.model,
    system_fingerprint: "roomhub-demo",
  };
}

function chatUsage({ inputTokens, words }: DemoReply): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: words.length,
    total_tokens: inputTokens + words.length,
  };
}

function finishReason(reply: DemoReply): string {
  return reply.isCut ? "length" : "stop";
}

async function readRequest(request: IncomingMessage) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new Error("The request body is larger than 64 MiB");
    chunks.push(chunk);
  }
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
  const streamOptions = body["stream_options"] as { include_usage?: unknown } | null | undefined;
  const limits = [body["max_completion_tokens"], body["max_tokens"]];
  return {
    prompt: lastText(body["messages"]),
    isStream: body["stream"] === true,
    includesUsage: streamOptions?.include_usage === true,
    maxTokens: limits.find((limit): limit is number => typeof limit === "number" && limit >= 1),
  };
}

/** The text of the last message, in any of the shapes that `messages` allows. */
function lastText(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return lastText(value.at(-1));
  if (typeof value !== "object" || value === null) return "";
  const { content, text } = value as { content?: unknown; text?: unknown };
  return lastText(content ?? text ?? "");
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function sendError(response: ServerResponse, status: number, message: string): void {
  const error = { message, type: "invalid_request_error", param: "", code: "" };
  sendJson(response, status, { error });
}
