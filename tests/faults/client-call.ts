import { createHash } from "node:crypto";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { createSseReader } from "@roomhub/protocol";
import type { Behaviour } from "../support/providers/fake-provider.ts";
import type { PlainWish } from "../support/providers/fast-provider.ts";
import { ResponseHash } from "../support/clients/response-hash.ts";
import type { HashedWish } from "./programs/hashed-provider.ts";
import { sharedNowMs } from "./shared-clock.ts";

export type Surface = "chat/completions" | "responses";

/** One request a client makes. */
export interface CallWish {
  tag: string;
  /** a room's base URL, `…/v1` */
  baseUrl: string;
  surface: Surface;
  stream: boolean;
  model: string;
  /** how the provider responds */
  behaviour?: Behaviour | undefined;
  /** the same for the provider's plain server */
  plain?: PlainWish | undefined;
  /** the same for `programs/hashed-provider.ts` */
  hashed?: HashedWish | undefined;
  /** the request's body has about so many bytes more */
  paddingBytes?: number | undefined;
  /** the client stops reading for a moment after every so many bytes */
  pauses?: { everyBytes: number; forMs: number } | undefined;
  /** the client destroys its socket after so many pieces, or so many milliseconds after the request */
  leaveAfterPieces?: number | undefined;
  leaveAfterMs?: number | undefined;
  /** the client stops reading after so many bytes, until `resume` */
  stallAfterBytes?: number | undefined;
  localAddress?: string | undefined;
  /** keep the time of each piece */
  keepsTimes?: boolean | undefined;
}

/**
 * How a call ended for the client. `complete`: 200 and everything that shows a client that it is complete; `error`: reported in
 * so many words; `left`: the client disconnected; `cut`: the connection broke without an error; `refused`: there was none.
 */
type CallEnd = "complete" | "error" | "left" | "cut" | "refused";

export interface CallOutcome {
  tag: string;
  /** where it was sent */
  baseUrl: string;
  surface: Surface;
  stream: boolean;
  end: CallEnd;
  status: number | undefined;
  code: string | undefined;
  /** of the error */
  message: string | undefined;
  requestId: string | undefined;
  participantId: string | undefined;
  attempts: number | undefined;
  pieces: number;
  bytes: number;
  askedMs: number;
  firstPieceMs: number | undefined;
  leftMs: number | undefined;
  endedMs: number;
  /** of each piece, when kept */
  timesMs: number[];
  /** SHA-256 of the request's bytes and, without keepalives, of the response's; of calls with `hashed` */
  hashes: { request: string; response: string } | undefined;
  /** what was wrong with the content itself */
  problem: string | undefined;
}

export interface Call {
  readonly ended: Promise<CallOutcome>;
  readonly pieces: number;
  leave(): void;
  goOn(): void;
  /** Resolves when so many pieces have come, or it has ended. */
  reached(pieces: number): Promise<void>;
}

/** @param onPiece - called with the count after each */
export function startCall(wish: CallWish, onPiece: (pieces: number) => void = () => {}): Call {
  return new RunningCall(wish, onPiece);
}

class RunningCall implements Call {
  readonly #wish: CallWish;
  readonly #onPiece: (pieces: number) => void;
  readonly #ended = Promise.withResolvers<CallOutcome>();
  readonly #outcome: CallOutcome;
  readonly #waiting = new Map<number, () => void>();
  #request: ClientRequest;
  #response: IncomingMessage | undefined;
  #leaveTimer: NodeJS.Timeout | undefined;
  #text = "";
  #sawError: string | undefined;
  #sawTerminal = false;
  #sawDone = false;
  #json = "";
  #isStalling = true;
  #unpausedBytes = 0;
  #requestHash = "";
  readonly #hash = new ResponseHash();
  #isOver = false;

  constructor(wish: CallWish, onPiece: (pieces: number) => void) {
    this.#wish = wish;
    this.#onPiece = onPiece;
    this.#outcome = {
      ...{ tag: wish.tag, baseUrl: wish.baseUrl, end: "cut" },
      ...{ surface: wish.surface, stream: wish.stream },
      ...{ status: undefined, code: undefined, message: undefined },
      ...{ requestId: undefined, participantId: undefined },
      ...{ attempts: undefined, pieces: 0, bytes: 0, askedMs: sharedNowMs() },
      ...{ firstPieceMs: undefined, leftMs: undefined, endedMs: 0, timesMs: [] },
      ...{ hashes: undefined, problem: undefined },
    };
    this.#request = this.#ask();
    if (wish.leaveAfterMs !== undefined) {
      this.#leaveTimer = setTimeout(() => this.leave(), wish.leaveAfterMs);
    }
  }

  get ended(): Promise<CallOutcome> {
    return this.#ended.promise;
  }

  get pieces(): number {
    return this.#outcome.pieces;
  }

  leave(): void {
    if (this.#isOver) return;
    this.#outcome.leftMs = sharedNowMs();
    this.#request.destroy();
    this.#finish("left");
  }

  goOn(): void {
    this.#isStalling = false;
    this.#response?.resume();
  }

  reached(pieces: number): Promise<void> {
    if (this.#isOver || this.#outcome.pieces >= pieces) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(pieces, resolve));
  }

  #ask(): ClientRequest {
    const { baseUrl, surface, stream, model, tag, localAddress } = this.#wish;
    const { behaviour, plain, hashed, paddingBytes = 0 } = this.#wish;
    const said = `say ${tag}${" and more".repeat(paddingBytes / 9)}`;
    const body = JSON.stringify({
      ...{ model, stream, tag, behaviour, plain, hashed },
      ...(surface === "responses"
        ? { input: said }
        : { messages: [{ role: "user", content: said }] }),
    });
    if (hashed !== undefined) this.#requestHash = sha256(body);
    const request = httpRequest(`${baseUrl}/${surface}`, {
      method: "POST",
      agent: false,
      headers: { "content-type": "application/json" },
      ...(localAddress === undefined ? {} : { localAddress }),
    });
    request.on("response", (response) => this.#read(response));
    // After a response its own `close` reports the end.
    request.on("error", () => {
      if (this.#response === undefined)
        this.#finish(request.reusedSocket ? "cut" : this.#brokenEnd());
    });
    request.end(body);
    return request;
  }

  #brokenEnd(): CallEnd {
    return this.#request.socket?.connecting === false && this.#request.writableFinished
      ? "cut"
      : "refused";
  }

  #read(response: IncomingMessage): void {
    this.#response = response;
    const { headers, statusCode } = response;
    const attempts = headers["x-roomhub-attempts"];
    this.#outcome.status = statusCode;
    this.#outcome.requestId = headers["x-request-id"] as string | undefined;
    this.#outcome.participantId = headers["x-roomhub-participant"] as string | undefined;
    this.#outcome.attempts = attempts === undefined ? undefined : Number(attempts);
    const isEventStream = String(headers["content-type"]).startsWith("text/event-stream");
    const reader = createSseReader(({ event, data }) => this.#onEvent(event, data));
    response.setEncoding("utf8");
    response.on("data", (text: string) => {
      this.#outcome.bytes += Buffer.byteLength(text);
      if (isEventStream) reader.feed(text);
      else this.#json += text;
      this.#hashAndPause(text);
      const { stallAfterBytes } = this.#wish;
      if (stallAfterBytes === undefined || !this.#isStalling) return;
      if (this.#outcome.bytes >= stallAfterBytes) response.pause();
    });
    response.on("end", () => {
      // What was on its way to a client that has left.
      if (this.#isOver) return;
      if (isEventStream) this.#finish(this.#streamEnd());
      else this.#finish(this.#jsonEnd());
    });
    response.on("error", () => undefined);
    response.on("close", () => this.#finish("cut"));
  }

  #hashAndPause(text: string): void {
    const { hashed, pauses } = this.#wish;
    // A client that has left while it paused still gets what was on its way.
    if (hashed !== undefined && !this.#isOver) this.#hash.update(text);
    if (pauses === undefined) return;
    this.#unpausedBytes += text.length;
    if (this.#unpausedBytes < pauses.everyBytes) return;
    this.#unpausedBytes = 0;
    this.#response?.pause();
    setTimeout(() => this.#response?.resume(), pauses.forMs);
  }

  #onEvent(name: string | undefined, data: string): void {
    if (this.#isOver) return;
    if (data === "[DONE]") {
      this.#sawDone = true;
      return;
    }
    const event = parseEvent(data);
    const code = event.error?.code ?? (name === "error" ? event.code : undefined);
    if (code !== undefined && code !== null) {
      if (this.#sawError === undefined)
        this.#outcome.message = event.error?.message ?? event.message;
      this.#sawError ??= code;
      return;
    }
    // What a Responses client reads as the end of the response itself comes after the error. Contract §4.
    if (this.#sawError !== undefined && event.type !== "response.failed") {
      this.#problem("an event after the error");
    }
    const piece = event.choices?.[0]?.delta?.content ?? deltaOf(event);
    if (typeof piece === "string" && piece !== "") this.#onContent(piece);
    const finish = event.choices?.[0]?.finish_reason;
    if (typeof finish === "string" || event.type === "response.completed") this.#sawTerminal = true;
  }

  #onContent(piece: string): void {
    const now = sharedNowMs();
    this.#text = piece.length > 1_000 ? "" : this.#text + piece;
    this.#outcome.pieces++;
    this.#outcome.firstPieceMs ??= now;
    if (this.#wish.keepsTimes === true) this.#outcome.timesMs.push(now);
    this.#onPiece(this.#outcome.pieces);
    this.#tellWaiting();
    if (this.#outcome.pieces === this.#wish.leaveAfterPieces) this.leave();
  }

  #streamEnd(): CallEnd {
    this.#checkWords();
    if (this.#sawError !== undefined) {
      this.#outcome.code = this.#sawError;
      return "error";
    }
    const isMarked = this.#wish.surface === "responses" ? this.#sawTerminal : this.#sawDone;
    if (!isMarked) this.#problem("a clean end without a marker");
    return "complete";
  }

  #jsonEnd(): CallEnd {
    try {
      const body = JSON.parse(this.#json) as StreamEvent & { object?: string };
      if (this.#outcome.status === 200 && (body.error ?? undefined) === undefined) {
        this.#outcome.firstPieceMs = sharedNowMs();
        return "complete";
      }
      this.#outcome.code = String(body.error?.code);
      this.#outcome.message = body.error?.message;
      return "error";
    } catch {
      if (this.#outcome.status === 200) this.#problem("200 with a body that is no JSON");
      return "error";
    }
  }

  /** The provider's words are `w1 w2 …`: what arrived must be a prefix of them, or all of them. */
  #checkWords(): void {
    const { behaviour } = this.#wish;
    if (behaviour?.kind !== "normal" || behaviour.words === undefined) return;
    const all = Array.from({ length: behaviour.words }, (_, index) => `w${index + 1}`).join(" ");
    const isAll = this.#sawError === undefined && this.#sawTerminal;
    if (isAll ? this.#text !== all : !all.startsWith(this.#text)) {
      this.#problem(`the words are not what was said: …${this.#text.slice(-60)}`);
    }
  }

  #problem(what: string): void {
    this.#outcome.problem ??= what;
  }

  #finish(end: CallEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#leaveTimer);
    this.#outcome.end = end;
    this.#outcome.endedMs = sharedNowMs();
    if (this.#wish.hashed !== undefined) {
      this.#outcome.hashes = { request: this.#requestHash, response: this.#hash.digest() };
    }
    if (end === "cut" && this.#sawError !== undefined) this.#outcome.code = this.#sawError;
    this.#ended.resolve(this.#outcome);
    this.#tellWaiting();
  }

  #tellWaiting(): void {
    for (const [pieces, resolve] of this.#waiting) {
      if (!this.#isOver && this.#outcome.pieces < pieces) continue;
      this.#waiting.delete(pieces);
      resolve();
    }
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

interface StreamEvent {
  type?: string;
  code?: string | null;
  message?: string | undefined;
  delta?: unknown;
  error?: { code?: string | null; message?: string | undefined } | null;
  choices?: { delta?: { content?: unknown }; finish_reason?: unknown }[];
}

/** An invalid response of a provider is relayed unchanged. */
function parseEvent(data: string): StreamEvent {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function deltaOf(event: StreamEvent): unknown {
  return event.type === "response.output_text.delta" ? event.delta : undefined;
}
