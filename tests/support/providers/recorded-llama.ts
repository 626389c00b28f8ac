import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Recording, readRecording } from "./recording.ts";

/** One request to the server. */
interface LlamaRequest {
  method: string;
  /** with the query */
  url: string;
  /** `{}` for a request without one */
  body: Record<string, unknown>;
}

/** A llama-server of v0.5.0, as recorded. Listens on 127.0.0.1. */
export interface RecordedLlama extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1` */
  readonly url: string;
  readonly asked: readonly LlamaRequest[];
  /** `POST /v1/responses` of every request, in order */
  lines(): string[];
}

/** Its one model, as it lists it. */
export const LLAMA_MODEL = "tiny";

/** @returns undefined where the recording stands */
type Instead = (request: LlamaRequest) => Recording | undefined;

interface RecordedLlamaOptions {
  /** A request waits for this before its response. */
  before: (request: LlamaRequest) => Promise<void> | undefined;
}

export async function startRecordedLlama(
  instead?: Instead,
  options?: RecordedLlamaOptions,
): Promise<RecordedLlama> {
  const asked: LlamaRequest[] = [];
  const server = createServer((request, response) => void serve(request, response));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString();
    const body = JSON.parse(text === "" ? "{}" : text) as Record<string, unknown>;
    const one = { method, url, body };
    asked.push(one);
    await options?.before(one);
    const { status, headers, body: bytes } = instead?.(one) ?? llamaAnswer(one);
    response.writeHead(status, headers).end(bytes);
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    lines: () => asked.map(({ method, url }) => `${method} ${url}`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The recording for a request; a path without one is a 404. */
function llamaAnswer(request: LlamaRequest): Recording {
  const name = recordingFor(request);
  return name === undefined ? notFound : llamaRecording(name);
}

/** @param name - of a file, without its ending */
export function llamaRecording(name: string): Recording {
  return readRecording(`llama.cpp/${name}`);
}

const notFound: Recording = {
  status: 404,
  headers: { server: "llama.cpp", "content-type": "application/json; charset=utf-8" },
  body: Buffer.from('{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}'),
};

function recordingFor({ method, url, body }: LlamaRequest): string | undefined {
  const isEmpty = Object.keys(body).length === 0;
  switch (`${method} ${url.split("?", 1)[0]}`) {
    case "GET /v1/models":
      return "models";
    case "GET /props":
      return "props";
    case "GET /slots":
      return "slots";
    case "GET /health":
      return "health";
    case "POST /v1/chat/completions":
      return isEmpty ? "chat-empty" : chatRecording(body);
    case "POST /v1/responses":
      return isEmpty ? "responses-empty" : responsesRecording(body);
    case "POST /v1/messages":
      return isEmpty ? "messages-empty" : messagesRecording(body);
    case "POST /v1/messages/count_tokens":
      return isEmpty ? "messages-empty" : "count-tokens";
    case "POST /v1/responses/input_tokens":
      return isEmpty ? "responses-empty" : "count-tokens";
    case "POST /v1/completions":
      return "completions-stream";
    case "POST /v1/embeddings":
      return "embeddings-off";
    default:
      return undefined;
  }
}

function chatRecording(body: Record<string, unknown>): string {
  const isStream = body["stream"] === true;
  if (JSON.stringify(body["messages"]).includes('"image_url"')) return "error-image";
  if (JSON.stringify([body["tools"]]).includes(`{"type":"x"}`)) return "error-bad-tools";
  if (hasTools(body)) return isStream ? "tools-chat-stream" : "tools-chat";
  if (body["timings_per_token"] === true) return "chat-stream-timings-per-token";
  if (isStream) return requestsUsage(body) ? "chat-stream-usage" : "chat-stream";
  return body["response_format"] === undefined ? "chat" : "chat-json-schema";
}

function responsesRecording(body: Record<string, unknown>): string {
  if (hasTools(body)) return "tools-responses-stream";
  return body["stream"] === true ? "responses-stream" : "responses";
}

function messagesRecording(body: Record<string, unknown>): string {
  if (hasTools(body)) return "tools-messages-stream";
  return body["stream"] === true ? "messages-stream" : "messages";
}

function hasTools({ tools }: Record<string, unknown>): boolean {
  return Array.isArray(tools) && tools.length > 0;
}

function requestsUsage({ stream_options: options }: Record<string, unknown>): boolean {
  return (options as { include_usage?: unknown } | undefined)?.include_usage === true;
}
