import {
  forwardResponseHeaders,
  type ErrorShape,
  type Limits,
  type StreamMarker,
  type Usage,
} from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import {
  answerHeaders,
  contentTypeOf,
  earlyHeaders,
  refusalHeaders,
  type HeaderMap,
} from "./answer.ts";
import { type AnswerKind, judgeHead } from "./answer-gate.ts";
import type { ClientResponse } from "../client-response.ts";
import { checkClient, checkProvider } from "./deadline.ts";
import type { ServedBy } from "../request-facts.ts";
import { errorFrame } from "./error-frame.ts";
import type { DispatchDeps, InferenceCall, Scrubber } from "../inference-call.ts";
import { JsonAnswer } from "./json-answer.ts";
import { StreamObserver } from "../stream/observe.ts";
import { readRefusal, type ProviderRefusal } from "./refusal.ts";
import type { ResponseHead } from "../upstream.ts";

/** How an answer came to its end. Failures are thrown. */
export type DeliveryEnd =
  /** Everything is written; the callback says when the socket has it. */
  | { kind: "handing-over" }
  /** The provider said no; its body is here. */
  | { kind: "refused"; status: number; body: Buffer }
  /** The provider failed inside its own stream, and the client was told by the provider's own words. */
  | { kind: "told"; error: HubError };

type Mode =
  | { kind: "waiting" }
  | { kind: "stream"; observer: StreamObserver }
  | { kind: "json"; head: ResponseHead; answer: JsonAnswer }
  | { kind: "refusal"; head: ResponseHead; chunks: Buffer[]; length: number };

const maxRefusalBytes = 64 * 1024;
/** Who has said `[DONE]` closes within milliseconds; some servers leave the connection open. */
const leftOpenMs = 2_000;

/** Brings one answer to the client, whichever attempt it comes from, and keeps the client patient meanwhile. */
export class Delivery {
  readonly #limits: Limits;
  readonly #nowMs: () => number;
  readonly #client: ClientResponse;
  /** `none` when the client did not ask for a stream */
  readonly #marker: StreamMarker;
  readonly #errorShape: ErrorShape;
  readonly #requestId: string;
  readonly #startedMs: number;
  #mode: Mode = { kind: "waiting" };
  #served: ServedBy | undefined;
  #hidesUsage = false;
  #scrubber: Scrubber | undefined;
  #responseId: string | undefined;
  #openedMs: number | undefined;
  #lastByteMs = 0;
  /** of the last byte when it was last asked whether the stream is over: it reads its end for that */
  #judgedMs = 0;
  #lastWriteMs: number;
  #lastProcessingMs: number;
  #isWritable = true;
  /** since when the client has taken nothing */
  #blockedMs: number | undefined;
  #isFinishing = false;
  #firstContentMs: number | undefined;
  usage: Usage = {};

  constructor({ limits, nowMs }: DispatchDeps, call: InferenceCall) {
    const { client, asking, requestId, startedMs } = call;
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#client = client;
    this.#marker = asking.marker;
    this.#errorShape = asking.errorShape;
    this.#requestId = requestId;
    this.#startedMs = startedMs;
    this.#lastWriteMs = startedMs;
    this.#lastProcessingMs = startedMs;
  }

  /** on the hub's clock; undefined until there was any content */
  get firstContentMs(): number | undefined {
    return this.#mode.kind === "stream"
      ? (this.#mode.observer.firstContentMs ?? this.#firstContentMs)
      : this.#firstContentMs;
  }

  /** of a response made here, as soon as it is known */
  get responseId(): string | undefined {
    return this.#mode.kind === "stream" ? this.#mode.observer.responseId : this.#responseId;
  }

  /**
   * A participant was asked.
   *
   * @param hidesUsage - the usage of the stream was our question, so the answer is not for the client
   * @param scrubber - takes the participant's secrets out of what its provider says of a failure
   */
  begin(served: ServedBy, hidesUsage: boolean, scrubber: Scrubber | undefined): void {
    this.#served = served;
    this.#hidesUsage = hidesUsage;
    this.#scrubber = scrubber;
    this.#responseId = undefined;
    this.#mode = { kind: "waiting" };
    this.#openedMs = this.#nowMs();
    this.#lastByteMs = this.#openedMs;
    this.#firstContentMs = undefined;
  }

  /** The attempt failed, and the request waits for the next: nothing is expected of a provider meanwhile. */
  leave(): void {
    this.#mode = { kind: "waiting" };
    this.#openedMs = undefined;
  }

  /** @throws HubError when such an answer may not be relayed */
  head(head: ResponseHead): AnswerKind {
    this.#lastByteMs = this.#nowMs();
    const served = this.#servedBy();
    const isStream = this.#marker !== "none";
    const kind = judgeHead(head, served.participantId, isStream);
    if (kind === "refusal") {
      this.#mode = { kind, head, chunks: [], length: 0 };
    } else if (kind === "stream") {
      if (!this.#client.isHeadWritten) {
        this.#client.writeHead(head.status, answerHeaders(served, head, contentTypeOf(head, true)));
      }
      this.#mode = { kind, observer: this.#observer() };
    } else if (this.#client.isHeadWritten) {
      throw new HubError(
        "provider_invalid_response",
        `The provider of ${served.participantId} answered with JSON after a stream had begun.`,
      );
    } else {
      this.#mode = { kind, head, answer: new JsonAnswer(served.participantId) };
    }
    return kind;
  }

  #observer(): StreamObserver {
    const { eventHoldBytes } = this.#limits;
    const scrub = this.#scrubber;
    const edits = { hidesUsage: this.#hidesUsage, scrub };
    return new StreamObserver(this.#marker, eventHoldBytes, (bytes) => this.#write(bytes), edits);
  }

  /**
   * @returns false when the client is behind
   * @throws HubError `response_too_large`
   */
  data(chunk: Buffer): boolean {
    const nowMs = this.#nowMs();
    this.#lastByteMs = nowMs;
    const mode = this.#mode;
    switch (mode.kind) {
      case "stream":
        this.#firstContentMs ??= nowMs;
        mode.observer.push(chunk, nowMs);
        break;
      case "json":
        this.#firstContentMs ??= nowMs;
        this.#relayJson(mode.head, mode.answer, chunk);
        break;
      case "refusal":
        // Beyond the bound an error text says nothing new.
        if (mode.length < maxRefusalBytes) mode.chunks.push(Buffer.from(chunk));
        mode.length += chunk.length;
        break;
      case "waiting":
        break;
    }
    return this.#isWritable;
  }

  #relayJson(head: ResponseHead, answer: JsonAnswer, chunk: Buffer): void {
    const out = answer.push(chunk);
    if (answer.length > this.#limits.responseBodyBytes) {
      throw new HubError(
        "response_too_large",
        `The answer is longer than ${this.#limits.responseBodyBytes} bytes (limit ROOMHUB_RESPONSE_BODY_BYTES).`,
      );
    }
    if (out === undefined) return;
    if (!this.#client.isHeadWritten) this.#client.writeHead(head.status, this.#headersFor(head));
    this.#write(out);
  }

  /** @throws HubError when the answer was not whole */
  end(onHandedOver: () => void): DeliveryEnd {
    const mode = this.#mode;
    switch (mode.kind) {
      case "stream":
        return this.#endStream(mode.observer, onHandedOver);
      case "json": {
        const { body, usage, responseId } = mode.answer.end();
        this.usage = usage;
        this.#responseId = responseId;
        this.#finish();
        if (this.#client.isHeadWritten) {
          if (body.length > 0) this.#write(body);
          this.#client.end(onHandedOver);
        } else {
          this.#client.answer(mode.head.status, this.#headersFor(mode.head), body, onHandedOver);
        }
        return { kind: "handing-over" };
      }
      case "refusal":
        return { kind: "refused", status: mode.head.status, body: Buffer.concat(mode.chunks) };
      case "waiting":
        throw new HubError("provider_invalid_response", "The provider's answer had no head.");
    }
  }

  #endStream(observer: StreamObserver, onHandedOver: () => void): DeliveryEnd {
    const verdict = observer.end(this.#nowMs());
    this.usage = verdict.usage;
    if (verdict.providerError !== undefined) {
      // A client reads an event only once its blank line has come.
      if (verdict.isMidEvent) this.#write("\n\n");
      this.#client.end();
      return { kind: "told", error: new HubError("provider_error", verdict.providerError) };
    }
    if (!verdict.isComplete) {
      throw new HubError(
        "provider_disconnected",
        `The provider of ${this.#servedBy().participantId} ended its stream before it was complete.`,
      );
    }
    this.#endComplete(verdict.hasDone, verdict.isMidEvent, onHandedOver);
    return { kind: "handing-over" };
  }

  #endComplete(hasDone: boolean, isMidEvent: boolean, onHandedOver: () => void): void {
    if (isMidEvent && !hasDone) this.#write("\n\n");
    if (this.#marker === "chat" && !hasDone) this.#write("data: [DONE]\n\n");
    this.#finish();
    this.#client.end(onHandedOver);
  }

  /**
   * The path broke. After `[DONE]` or a terminal event the answer is whole all the same. Contract §4.
   *
   * @throws HubError `error` in every other case
   */
  lost(error: HubError, onHandedOver: () => void): void {
    if (!this.endIfOver(onHandedOver)) throw error;
  }

  /**
   * Ends a stream that has said that it is whole, whatever becomes of its path. Contract §4.
   *
   * @returns false when it has not
   */
  endIfOver(onHandedOver: () => void): boolean {
    if (this.#mode.kind !== "stream" || this.#isFinishing) return false;
    const verdict = this.#mode.observer.fail();
    if (!verdict.isOver) return false;
    this.usage = verdict.usage;
    this.#endComplete(verdict.hasDone, verdict.isMidEvent, onHandedOver);
    return true;
  }

  /** @returns whether the stream had said that it is whole, and all of it was with the client's socket */
  wasTaken(): boolean {
    const mode = this.#mode;
    if (mode.kind !== "stream" || this.#isFinishing || !this.#isWritable) return false;
    const { isOver, usage } = mode.observer.fail();
    this.usage = usage;
    return isOver;
  }

  /** The stream has said that it is whole, and a moment has passed in which its path said nothing. Asks each time once. */
  isLeftOpen(nowMs: number): boolean {
    const mode = this.#mode;
    if (mode.kind !== "stream" || this.#isFinishing) return false;
    if (nowMs - this.#lastByteMs < leftOpenMs || this.#judgedMs === this.#lastByteMs) return false;
    this.#judgedMs = this.#lastByteMs;
    return mode.observer.isOver;
  }

  /**
   * Tells the client the provider's own refusal. Contract §6.
   *
   * @param text - its body, scrubbed of the participant's secrets
   * @throws HubError when it is ours to tell
   */
  refuse(status: number, text: string): ProviderRefusal {
    const { participantId } = this.#servedBy();
    const refusal = readRefusal(participantId, status, text, this.#errorShape);
    if (this.#client.isHeadWritten) throw refusal.error;
    const head = this.#mode.kind === "refusal" ? this.#mode.head : { status, headers: {} };
    const headers = refusalHeaders(this.#servedBy(), head);
    if (refusal.hasRightShape) {
      const json = { ...headers, "content-type": "application/json" };
      this.#client.answer(status, json, Buffer.from(text));
    } else {
      this.#client.refuse(refusal.error, headers);
    }
    return refusal;
  }

  /** What a provider that refused says besides: when to come back. Contract §4. */
  refusalHints(): HeaderMap {
    return this.#mode.kind === "refusal" ? forwardResponseHeaders(this.#mode.head.headers) : {};
  }

  /** The head is out and the answer cannot be completed: the client must be able to tell. */
  breakOff(error: HubError): void {
    const isAnswered = this.#isFinishing || this.#mode.kind === "json";
    if (error.code === "client_stalled" || isAnswered) {
      this.#client.destroy();
      return;
    }
    const context =
      this.#mode.kind === "stream"
        ? this.#mode.observer.fail()
        : { isMidEvent: false, nextSequenceNumber: 0, response: undefined };
    this.#client.write(errorFrame(error, this.#marker, context, this.#requestId));
    this.#client.end();
  }

  drained(): void {
    const nowMs = this.#nowMs();
    this.#isWritable = true;
    // The last bytes must leave too.
    this.#blockedMs = this.#isFinishing ? nowMs : undefined;
    // Meanwhile the provider was held back; its silence was not its own.
    this.#lastByteMs = nowMs;
  }

  /** @throws HubError when a deadline has passed */
  tick(nowMs: number): void {
    checkClient(this.#limits, nowMs, this.#blockedMs);
    if (this.#isFinishing) return;
    // While the client is behind, the provider is held back.
    if (this.#openedMs !== undefined && this.#blockedMs === undefined) {
      const askedMs = this.#mode.kind === "waiting" ? this.#openedMs : undefined;
      checkProvider(this.#limits, nowMs, askedMs, this.#lastByteMs);
    }
    this.#comfort(nowMs);
  }

  /** Long prompts die in proxies and SDKs that wait for a first byte. Contract §4, "Waiting". */
  #comfort(nowMs: number): void {
    const { earlyCommitMs, informationalMs, keepaliveCommentMs } = this.#limits;
    const isWaitingForStream = this.#marker !== "none" && this.#mode.kind === "waiting";
    if (!this.#client.isHeadWritten) {
      if (isWaitingForStream && earlyCommitMs > 0 && nowMs - this.#startedMs > earlyCommitMs) {
        this.#client.writeHead(200, earlyHeaders(this.#requestId, this.#served));
        this.#write(": keepalive\n\n");
      } else if (informationalMs > 0 && nowMs - this.#lastProcessingMs > informationalMs) {
        this.#lastProcessingMs = nowMs;
        this.#client.writeProcessing();
      }
      return;
    }
    const isQuiet = nowMs - this.#lastWriteMs >= keepaliveCommentMs;
    const mayComment =
      this.#mode.kind === "stream" ? this.#mode.observer.isBetweenEvents : isWaitingForStream;
    if (isQuiet && mayComment && this.#isWritable) this.#write(": keepalive\n\n");
  }

  #headersFor(head: ResponseHead): HeaderMap {
    return answerHeaders(this.#servedBy(), head, contentTypeOf(head, false));
  }

  #servedBy(): ServedBy {
    if (this.#served === undefined) throw new Error("an answer without an attempt");
    return this.#served;
  }

  #finish(): void {
    this.#isFinishing = true;
    this.#blockedMs ??= this.#nowMs();
  }

  #write(bytes: Buffer | string): void {
    this.#lastWriteMs = this.#nowMs();
    this.#isWritable = this.#client.write(bytes);
    if (!this.#isWritable) this.#blockedMs ??= this.#lastWriteMs;
  }
}
