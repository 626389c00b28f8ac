import { type Limits, parseJson, type Timer, type World } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import { HubError } from "../errors.ts";
import type { BodyBudget } from "../inference/body-budget.ts";

interface BodyLimits {
  maxBytes: number;
  /** Name of the limit to turn, for the message. */
  knob: string;
  /** ms without a byte */
  idleMs: number;
  /** ms for the whole body; undefined: any time, unless it is silent */
  totalMs: number | undefined;
  /** for what is read of a body while its sink takes nothing; without it, nothing is */
  ahead?: ReadAheadBudget;
}

type ReadAheadBudget = Pick<BodyBudget, "hasRoomFor" | "hold" | "release">;

export function inferenceBodyLimits(limits: Limits): BodyLimits {
  const { inferenceBodyBytes: maxBytes, bodyIdleMs: idleMs, bodyReadMs: totalMs } = limits;
  return { maxBytes, knob: "INFERENCE_BODY_BYTES", idleMs, totalMs };
}

/** A form passes through, so only the client's silence counts. */
export function uploadLimits(
  { uploadBytes: maxBytes, bodyIdleMs: idleMs }: Limits,
  ahead: ReadAheadBudget,
): BodyLimits {
  return { maxBytes, knob: "UPLOAD_BYTES", idleMs, totalMs: undefined, ahead };
}

export function managementBodyLimits(limits: Limits): BodyLimits {
  const { managementBodyBytes: maxBytes, bodyIdleMs: idleMs, bodyReadMs: totalMs } = limits;
  return { maxBytes, knob: "MANAGEMENT_BODY_BYTES", idleMs, totalMs };
}

/** How much of a fast sender is read in one turn of the event loop, before others have theirs. */
const maxTurnBytes = 512 * 1024;

/**
 * Node does not report that a client has left while its socket is not read, and the end of the connection comes behind all
 * that the systems of both ends hold of the body: usually up to 10 MiB. So much is read in small steps.
 */
const maxAheadBytes = 12 * 1024 * 1024;
/** Most pauses are shorter. */
const aheadAfterMs = 1_000;
const aheadEveryMs = 20;
/** of one read */
const aheadStepBytes = 64 * 1024;

/** Gets a body as it arrives. */
export interface BodySink {
  /** May throw: reading then ends with that error. @returns false to pause until {@link BodyReading.resume} */
  onChunk(chunk: Buffer): boolean;
  /**
   * Called once, never before {@link readBody} returns. Without an error the body is complete; else the error is what
   * `onChunk` threw, or a HubError `request_too_large`, `request_read_timeout` or `client_disconnected`.
   */
  onOver(error?: unknown): void;
}

/**
 * Reads a request's body, chunk by chunk. Limits are enforced while reading, whatever content-length says.
 *
 * @param response - gets `100 Continue` when the client waits for it and the body is not too large
 */
export function readBody(
  world: World,
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  sink: BodySink,
): BodyReading {
  const reading = new BodyReading(world, request, limits, sink);
  reading.begin(response);
  return reading;
}

/** Whether a body follows the head. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/**
 * Reads a body that is ignored, within the same limits.
 *
 * @param onOver - as in {@link BodySink}
 */
export function skipBody(
  world: World,
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  onOver: (error?: unknown) => void,
): void {
  readBody(world, request, response, limits, { onChunk: () => true, onOver });
}

/** A body on its way. */
export class BodyReading {
  readonly #world: World;
  readonly #request: IncomingMessage;
  readonly #limits: BodyLimits;
  /** undefined once it is over */
  #sink: BodySink | undefined;
  #length = 0;
  #turnBytes = 0;
  #total: Timer | undefined;
  #idle: Timer | undefined;
  #isTimed = false;
  #isPaused = false;
  /** read while the sink takes nothing */
  readonly #ahead: Buffer[] = [];
  #aheadBytes = 0;
  #aheadTimer: Timer | undefined;
  /** The body is complete, and its end is in `#ahead`. */
  #isEnded = false;

  constructor(world: World, request: IncomingMessage, limits: BodyLimits, sink: BodySink) {
    this.#world = world;
    this.#request = request;
    this.#limits = limits;
    this.#sink = sink;
  }

  get isOver(): boolean {
    return this.#sink === undefined;
  }

  begin(response: ServerResponse): void {
    const announced = Number(this.#request.headers["content-length"] ?? 0);
    if (announced > this.#limits.maxBytes) {
      queueMicrotask(() => this.#finish(tooLarge(this.#limits)));
      return;
    }
    if (expectsContinue(this.#request)) response.writeContinue();
    queueMicrotask(() => {
      // Most bodies arrive with their head and need no timers.
      const isHere = this.#length + this.#request.readableLength >= announced && announced > 0;
      if (!isHere && !this.#request.complete) this.#startTimers();
    });
    // The listeners stay: removing them costs more than checking whether the body is over.
    this.#request.on("data", (chunk: Buffer) => this.#onData(chunk));
    this.#request.on("end", () => this.#onEnd());
    this.#request.on("close", () => this.#onClose());
  }

  #startTimers(): void {
    if (this.#sink === undefined) return;
    const { totalMs } = this.#limits;
    this.#isTimed = true;
    if (totalMs !== undefined)
      this.#total = this.#world.setTimeout(() => this.#finish(tooSlow()), totalMs);
    this.#waitForChunk();
  }

  #waitForChunk(): void {
    this.#world.clearTimeout(this.#idle);
    if (this.#isPaused) return;
    this.#idle = this.#world.setTimeout(() => this.#finish(tooSlow()), this.#limits.idleMs);
  }

  #onData(chunk: Buffer): void {
    if (this.#sink === undefined) return;
    if (this.#isTimed) this.#waitForChunk();
    this.#length += chunk.length;
    if (this.#length > this.#limits.maxBytes) {
      this.#finish(tooLarge(this.#limits));
      return;
    }
    if (this.#isPaused) return this.#keepAhead(chunk);
    this.#pass(chunk);
    this.#turnBytes += chunk.length;
    if (this.#turnBytes > maxTurnBytes) {
      this.#request.pause();
      this.#world.setImmediate(() => this.#goOn());
    }
  }

  #pass(chunk: Buffer): void {
    try {
      if (this.#sink?.onChunk(chunk) === false) this.pause();
    } catch (error) {
      this.#finish(error);
    }
  }

  #onEnd(): void {
    this.#isEnded = true;
    if (this.#ahead.length === 0) this.#finish();
  }

  #keepAhead(chunk: Buffer): void {
    this.#request.pause();
    this.#ahead.push(chunk);
    this.#aheadBytes += chunk.length;
    this.#limits.ahead?.hold(chunk.length);
    this.#readAheadIn(aheadEveryMs);
  }

  #readAheadIn(ms: number): void {
    const { ahead } = this.#limits;
    if (ahead === undefined || this.#aheadBytes >= maxAheadBytes) return;
    this.#aheadTimer = this.#world.setTimeout(() => {
      if (ahead.hasRoomFor(aheadStepBytes)) this.#request.resume();
      else this.#readAheadIn(aheadAfterMs);
    }, ms);
  }

  #dropAhead(): void {
    this.#world.clearTimeout(this.#aheadTimer);
    this.#limits.ahead?.release(this.#aheadBytes);
    this.#aheadBytes = 0;
    this.#ahead.length = 0;
  }

  /** @returns whether the sink takes more */
  #passAhead(): boolean {
    for (let chunk = this.#ahead.shift(); chunk !== undefined; chunk = this.#ahead.shift()) {
      this.#aheadBytes -= chunk.length;
      this.#limits.ahead?.release(chunk.length);
      this.#pass(chunk);
      if (this.#isPaused) return false;
    }
    return this.#sink !== undefined;
  }

  #goOn(): void {
    this.#turnBytes = 0;
    if (this.#sink !== undefined && !this.#isPaused) this.#request.resume();
  }

  /** The sink takes nothing for now, and waits for nothing. */
  pause(): void {
    if (this.#sink === undefined) return;
    this.#isPaused = true;
    this.#request.pause();
    this.#world.clearTimeout(this.#idle);
    this.#world.clearTimeout(this.#aheadTimer);
    this.#readAheadIn(aheadAfterMs);
  }

  resume(): void {
    if (this.#sink === undefined || !this.#isPaused) return;
    this.#isPaused = false;
    this.#world.clearTimeout(this.#aheadTimer);
    if (!this.#passAhead()) return;
    if (this.#isEnded) return this.#finish();
    if (this.#isTimed) this.#waitForChunk();
    if (this.#turnBytes <= maxTurnBytes) this.#request.resume();
  }

  /** Reading ends with this error. */
  fail(error: unknown): void {
    this.#finish(error);
  }

  /** The sink gets nothing more. The rest is left unread. */
  stop(): void {
    this.#sink = undefined;
    this.#endTimers();
    this.#dropAhead();
  }

  #onClose(): void {
    // Behind the end of a body, its request is closed too.
    if (this.#sink === undefined || this.#isEnded) return;
    this.#finish(
      new HubError("client_disconnected", "The client disconnected while sending its request."),
    );
  }

  #finish(error?: unknown): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    this.stop();
    if (error !== undefined) this.#request.pause();
    sink.onOver(error);
  }

  #endTimers(): void {
    this.#world.clearTimeout(this.#total);
    this.#world.clearTimeout(this.#idle);
    this.#total = undefined;
    this.#idle = undefined;
    this.#isTimed = false;
  }
}

/** @throws HubError `invalid_json`, also for an empty one */
export function jsonIn(body: Buffer): unknown {
  const text = body.toString("utf8");
  const value = parseJson(text);
  if (value !== undefined) return value;
  throw new HubError(
    "invalid_json",
    text === ""
      ? "The request body is empty; it must be a JSON object."
      : "The request body is not valid JSON.",
    { hint: `In a shell, put it into single quotes: curl … -d '{"name":"lab"}'` },
  );
}

/** By the rule of `node:http`. HTTP/1.0 has no interim responses, RFC 9110 §10.1.1. */
function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  const { expect } = headers;
  return (
    expect !== undefined && httpVersion === "1.1" && /(?:^|\W)100-continue(?:$|\W)/i.test(expect)
  );
}

function tooLarge(limits: BodyLimits): HubError {
  return new HubError(
    "request_too_large",
    `The request body is larger than ${limits.maxBytes} bytes (limit ROOMHUB_${limits.knob}).`,
    { hint: `Send less, or the host raises it: ROOMHUB_${limits.knob}=… roomhub serve` },
  );
}

function tooSlow(): HubError {
  return new HubError("request_read_timeout", "The request body did not arrive in time.");
}
