import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { ServerResponse } from "node:http";
import type { Answer, AnswerEvent } from "./fake-provider-bodies.ts";

interface Waits {
  /** awaited before anything is sent, or with `gateAfterChunks` in the middle */
  gate?: Promise<void> | undefined;
  /** the gate stands behind this many chunks of a stream instead of before its head */
  gateAfterChunks?: number | undefined;
}

/** What a provider does with one request. Unless noted, it responds normally apart from its quirk. */
export type Behaviour = Waits &
  (
    | { kind: "normal"; chunkDelayMs?: number; words?: number; pieces?: string[] }
    /** no byte, ever */
    | { kind: "hang" }
    /** 2 chunks, or half a JSON response, and then nothing */
    | { kind: "hang-mid-stream"; afterChunks?: number }
    | { kind: "status"; status: number; body?: string | object; headers?: Record<string, string> }
    /** bytes on the socket, or none, in place of a response; closed after them unless `keepOpen` */
    | { kind: "raw"; bytes: string | Uint8Array; keepOpen?: boolean }
    /** the socket is destroyed after so many chunks, or after half a JSON response; with `reset` by a TCP reset */
    | { kind: "cut"; afterChunks: number; words?: number; reset?: boolean }
    /** a clean end without finish reason, terminal event and `[DONE]` */
    | { kind: "no-marker" }
    /** a finish reason or terminal event, but no `[DONE]` */
    | { kind: "no-done" }
    | { kind: "crlf" }
    /** one event of exactly so many bytes among the others */
    | { kind: "big-event"; bytes: number }
    /** what LM Studio returns with status 200 for a path it does not have */
    | { kind: "error-200" }
    | { kind: "slow-head"; delayMs: number }
    /** a JSON response of exactly so many bytes, also when a stream was requested */
    | { kind: "big-json"; bytes: number }
    | { kind: "usage-absent" }
    /** every byte in a packet of its own */
    | { kind: "byte-by-byte" }
  );

/** One request during its response. */
export interface Exchange {
  response: ServerResponse;
  isStream: boolean;
  /** aborts when the connection is closed, by either side */
  closed: AbortSignal;
  /** a chunk was sent */
  onSent(bytes: number): void;
  /** what happens to the connection now is the provider's own doing */
  onOwnEnd(): void;
}

type Stop = { afterChunks: number; end: "hang" | "cut"; isReset: boolean } | undefined;

/** Plays a behaviour to its end. Returns early, without an error, when the client has disconnected. */
export async function play(
  behaviour: Behaviour,
  exchange: Exchange,
  makeAnswer: (pieces?: string[]) => Answer,
): Promise<void> {
  if (behaviour.gateAfterChunks === undefined) await opened(behaviour.gate, exchange.closed);
  if (exchange.closed.aborted) return;
  switch (behaviour.kind) {
    case "hang":
      return;
    case "status":
      return sendStatus(behaviour, exchange);
    case "raw":
      return sendRaw(behaviour.bytes, behaviour.keepOpen === true, exchange);
    case "error-200":
      return sendJson('{"error":"Unexpected endpoint"}', behaviour, exchange);
    case "big-json":
      return sendJson(jsonOfBytes(makeAnswer, behaviour.bytes), behaviour, exchange);
    case "slow-head":
      await waited(behaviour.delayMs, exchange.closed);
      return sendAnswer(makeAnswer(), behaviour, exchange);
    case "big-event":
      return sendAnswer(
        makeAnswer(piecesWithBigEvent(makeAnswer, behaviour.bytes)),
        behaviour,
        exchange,
      );
    case "normal":
    case "hang-mid-stream":
    case "cut":
    case "no-marker":
    case "no-done":
    case "crlf":
    case "usage-absent":
    case "byte-by-byte":
      return sendAnswer(makeAnswer(), behaviour, exchange);
  }
}

async function sendAnswer(answer: Answer, behaviour: Behaviour, exchange: Exchange): Promise<void> {
  if (exchange.closed.aborted) return;
  if (!exchange.isStream) return sendJson(JSON.stringify(answer.json), behaviour, exchange);
  const lineEnd = behaviour.kind === "crlf" ? "\r\n" : "\n";
  const events = answer.events.filter(({ role }) => isSent(role, behaviour));
  exchange.response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  });
  exchange.response.flushHeaders();
  await sendChunks(encodeEvents(events, lineEnd), behaviour, exchange);
}

/** One at a time: a long stream is not in memory as a whole. */
function* encodeEvents(events: AnswerEvent[], lineEnd: string): Iterable<Buffer> {
  for (const event of events) yield Buffer.from(encodeEvent(event, lineEnd));
}

/** In halves, so that a JSON response too can be cut or hang in the middle. */
async function sendJson(json: string, behaviour: Behaviour, exchange: Exchange): Promise<void> {
  const bytes = Buffer.from(json);
  exchange.response.writeHead(200, {
    "content-type": "application/json",
    "content-length": bytes.length,
  });
  const middle = Math.ceil(bytes.length / 2);
  await sendChunks([bytes.subarray(0, middle), bytes.subarray(middle)], behaviour, exchange, 1);
}

/** @param mostBeforeStop - where a cut or a hang is due at the latest */
async function sendChunks(
  chunks: Iterable<Buffer>,
  behaviour: Behaviour,
  exchange: Exchange,
  mostBeforeStop = Infinity,
): Promise<void> {
  const stop = stopOf(behaviour);
  const stopAfter = stop === undefined ? Infinity : Math.min(stop.afterChunks, mostBeforeStop);
  let index = -1;
  for (const chunk of chunks) {
    index++;
    if (behaviour.gateAfterChunks === index) await opened(behaviour.gate, exchange.closed);
    if (index >= stopAfter) break;
    if (behaviour.kind === "normal" && index > 0) {
      await waited(behaviour.chunkDelayMs ?? 0, exchange.closed);
    }
    if (exchange.closed.aborted) return;
    await sendChunk(chunk, behaviour.kind === "byte-by-byte", exchange);
  }
  if (stop === undefined) await ended(exchange);
  else if (stop.end === "cut") cut(exchange, stop.isReset);
}

function stopOf(behaviour: Behaviour): Stop {
  if (behaviour.kind === "cut")
    return { afterChunks: behaviour.afterChunks, end: "cut", isReset: behaviour.reset === true };
  if (behaviour.kind !== "hang-mid-stream") return undefined;
  return { afterChunks: behaviour.afterChunks ?? 2, end: "hang", isReset: false };
}

async function sendChunk(chunk: Buffer, isByteByByte: boolean, exchange: Exchange): Promise<void> {
  if (!isByteByByte) await written(chunk, exchange);
  else {
    for (let index = 0; index < chunk.length && !exchange.closed.aborted; index++) {
      await written(chunk.subarray(index, index + 1), exchange);
      // In one turn of the event loop the bytes would be joined again.
      await nextTurn();
    }
  }
  exchange.onSent(chunk.length);
}

/** Resolves when there is room for more: a reader that stops stops the provider. */
async function written(chunk: Buffer, { response, closed }: Exchange): Promise<void> {
  if (closed.aborted || response.write(chunk)) return;
  await new Promise<void>((resolve) => {
    const settle = () => {
      response.off("drain", settle);
      closed.removeEventListener("abort", settle);
      resolve();
    };
    response.on("drain", settle);
    closed.addEventListener("abort", settle);
  });
}

async function ended({ response, closed }: Exchange): Promise<void> {
  if (closed.aborted) return;
  await new Promise<void>((resolve) => {
    closed.addEventListener("abort", () => resolve());
    response.end(resolve);
  });
}

function sendStatus(
  behaviour: Extract<Behaviour, { kind: "status" }>,
  { response }: Exchange,
): void {
  const body = behaviour.body ?? {
    error: { message: "scripted", type: "fake_error", code: "fake" },
  };
  const isText = typeof body === "string";
  response.writeHead(behaviour.status, {
    "content-type": isText ? "text/plain" : "application/json",
    ...behaviour.headers,
  });
  response.end(isText ? body : JSON.stringify(body));
}

function sendRaw(bytes: string | Uint8Array, keepOpen: boolean, exchange: Exchange): void {
  const socket = exchange.response.socket;
  if (!keepOpen) exchange.onOwnEnd();
  socket?.write(bytes, () => {
    if (!keepOpen) socket.end();
  });
}

/** What was sent before leaves first: a destroyed socket forgets what the kernel did not take yet. */
function cut(exchange: Exchange, isReset: boolean): void {
  const { response } = exchange;
  exchange.onOwnEnd();
  response.write("", () => {
    if (isReset) response.socket?.resetAndDestroy();
    else response.socket?.destroy();
  });
}

function isSent(role: AnswerEvent["role"], behaviour: Behaviour): boolean {
  if (behaviour.kind === "no-marker") return role === "content";
  return behaviour.kind !== "no-done" || role !== "done";
}

function encodeEvent({ name, data }: AnswerEvent, lineEnd: string): string {
  const text = data === "[DONE]" ? data : JSON.stringify(data);
  const nameLine = name === undefined ? "" : `event: ${name}${lineEnd}`;
  return `${nameLine}data: ${text}${lineEnd}${lineEnd}`;
}

function piecesWithBigEvent(makeAnswer: (pieces: string[]) => Answer, bytes: number): string[] {
  const mark = "@";
  const probe = makeAnswer([mark]).events.find(({ data }) => JSON.stringify(data).includes(mark));
  const others =
    probe === undefined ? 0 : Buffer.byteLength(encodeEvent(probe, "\n")) - mark.length;
  return ["before ", "x".repeat(Math.max(0, bytes - others)), " after"];
}

function jsonOfBytes(makeAnswer: (pieces: string[]) => Answer, bytes: number): string {
  const others = Buffer.byteLength(JSON.stringify(makeAnswer([""]).json));
  return JSON.stringify(makeAnswer(["x".repeat(Math.max(0, bytes - others))]).json);
}

/** Resolves when the gate opens or the client has disconnected. */
async function opened(gate: Promise<void> | undefined, closed: AbortSignal): Promise<void> {
  if (gate === undefined || closed.aborted) return;
  await Promise.race([
    gate,
    new Promise<void>((resolve) => {
      closed.addEventListener("abort", () => resolve(), { once: true });
    }),
  ]);
}

async function waited(delayMs: number, signal: AbortSignal): Promise<void> {
  if (delayMs <= 0) return;
  try {
    await pause(delayMs, undefined, { signal });
  } catch {
    // The client has disconnected; the caller checks the signal.
  }
}
