import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The form of a response, as `plain` within the first KiB of a request's body; one JSON response when absent. */
export type PlainWish =
  /** as many bytes as this in large pieces, as fast as they are taken */
  | { pourBytes: number }
  /** one JSON response of this length */
  | { jsonBytes: number }
  /** so many tokens, this far apart, the first at once; 0: one write per turn of the event loop */
  | { pieces: number; delayMs: number };

/**
 * A model server that costs next to nothing per response: prebuilt bytes, no parsing. What stands before it is what a
 * measurement shows. Listens on 127.0.0.1.
 */
export interface FastProvider extends AsyncDisposable {
  /** an endpoint, `…/v1` */
  readonly url: string;
  /** handed over so far in the newest pouring */
  readonly pouredBytes: number;
}

/** A token's event, as providers send them: 60 bytes of content. */
export const tokenBytes = 226;
const tokenText = " and one more of the many words that a model says in its turn";

const head = { "content-type": "text/event-stream" };
const bigPiece = chunk("c", { content: "x".repeat(15_800) }, null);
const token = tokenOfBytes(tokenBytes);
const streamEnd = Buffer.concat([
  chunk("c", {}, "stop", { prompt_tokens: 12, completion_tokens: 100, total_tokens: 112 }),
  Buffer.from("data: [DONE]\n\n"),
]);
const json = Buffer.from(jsonOfBytes(1_024));
const longJson = new Map<number, Buffer>();
/** As vLLM lists them, which queues by itself: participants before it are not held to a few requests at once. */
const models = Buffer.from(
  '{"object":"list","data":[{"id":"fake-model","object":"model","owned_by":"vllm"}]}',
);
const wishPattern = /"plain":(\{[^}]*\})/;

/** Bytes of the body of a complete response; undefined where only the provider knows. */
export function answerBytes(wish: PlainWish | undefined): number | undefined {
  if (wish === undefined) return json.length;
  if ("pourBytes" in wish) return undefined;
  if ("jsonBytes" in wish) return wish.jsonBytes;
  return wish.pieces * tokenBytes + streamEnd.length;
}

/** The events of a complete response, one by one. */
export function tokenStream(pieces: number): Buffer[] {
  return [...Array.from({ length: pieces }, () => token), streamEnd];
}

export async function startFastProvider(): Promise<FastProvider> {
  const state = { pouredBytes: 0 };
  const server = createServer((request, response) => {
    if (request.method === "GET") sendJson(response, models);
    else readWish(request, (wish) => answer(response, wish, state));
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", 16_384, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get pouredBytes() {
      return state.pouredBytes;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Reads the body to its end and keeps only the beginning. */
function readWish(request: IncomingMessage, then: (wish: PlainWish | undefined) => void): void {
  let start: Buffer | undefined;
  request.on("data", (bytes: Buffer) => {
    start ??= bytes;
  });
  request.on("end", () => {
    const found = wishPattern.exec(start?.toString("latin1", 0, 1_024) ?? "");
    then(found?.[1] === undefined ? undefined : (JSON.parse(found[1]) as PlainWish));
  });
}

function answer(
  response: ServerResponse,
  wish: PlainWish | undefined,
  state: { pouredBytes: number },
): void {
  if (wish === undefined) {
    sendJson(response, json);
    return;
  }
  if ("jsonBytes" in wish) {
    const { jsonBytes } = wish;
    const body = longJson.get(jsonBytes) ?? Buffer.from(jsonOfBytes(jsonBytes));
    longJson.set(jsonBytes, body);
    sendJson(response, body);
    return;
  }
  response.writeHead(200, head);
  if ("pourBytes" in wish) pour(response, wish.pourBytes, state);
  else if (wish.delayMs > 0) pace(response, wish.pieces, wish.delayMs);
  else flood(response, wish.pieces);
}

function sendJson(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

function pour(response: ServerResponse, bytes: number, state: { pouredBytes: number }): void {
  state.pouredBytes = 0;
  const goOn = () => {
    while (state.pouredBytes < bytes && !response.destroyed) {
      state.pouredBytes += bigPiece.length;
      if (!response.write(bigPiece)) {
        response.once("drain", goOn);
        return;
      }
    }
    response.end(streamEnd);
  };
  goOn();
}

/**
 * Tokens at their own times, whatever happened to those before: a server that was held up makes up for it, and its streams do
 * not fall into step. (With timers restarted when they fire they would: soon all tokens of all streams would
 * come at once.)
 */
function pace(response: ServerResponse, pieces: number, delayMs: number): void {
  const startMs = performance.now();
  let sent = 0;
  let timer: NodeJS.Timeout | undefined;
  const next = () => {
    const nowMs = performance.now();
    for (; sent < pieces && startMs + sent * delayMs <= nowMs; sent++) response.write(token);
    if (sent === pieces && startMs + sent * delayMs <= nowMs) response.end(streamEnd);
    else timer = setTimeout(next, Math.ceil(startMs + sent * delayMs - nowMs));
  };
  response.on("close", () => clearTimeout(timer));
  next();
}

function flood(response: ServerResponse, pieces: number): void {
  let left = pieces;
  const next = () => {
    if (response.destroyed) return;
    if (left-- <= 0) response.end(streamEnd);
    else if (response.write(token)) setImmediate(next);
    else response.once("drain", next);
  };
  next();
}

function chunk(id: string, delta: object, finishReason: string | null, usage?: object): Buffer {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  const value = { id, object: "chat.completion.chunk", model: "fake-model", choices, usage };
  return Buffer.from(`data: ${JSON.stringify(value)}\n\n`);
}

/** Padded by its id. */
function tokenOfBytes(bytes: number): Buffer {
  const content = tokenText.slice(0, 60);
  const others = chunk("", { content }, null).length;
  return chunk("chatcmpl-".padEnd(bytes - others, "0"), { content }, null);
}

function jsonOfBytes(bytes: number): string {
  const withContent = (content: string) =>
    JSON.stringify({
      ...{ id: "chatcmpl-0", object: "chat.completion", created: 1, model: "fake-model" },
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
      usage: { prompt_tokens: 12, completion_tokens: 100, total_tokens: 112 },
    });
  return withContent("x".repeat(bytes - withContent("").length));
}
