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
import { ClientWriter } from "./client-writer.ts";
import { checkProvider } from "./deadline.ts";
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

type State =
  /** No participant has the request. */
  | { kind: "idle" }
  | { kind: "waiting"; sinceMs: number }
  | { kind: "stream"; observer: StreamObserver }
  | { kind: "json"; head: ResponseHead; answer: JsonAnswer }
  | { kind: "refusal"; head: ResponseHead; chunks: Buffer[]; length: number };

const idle: State = { kind: "idle" };

const maxRefusalBytes = 64 * 1024;
/** Who has said `[DONE]` closes within milliseconds; some servers leave the connection open. */
const leftOpenMs = 2_000;

/** Brings one answer to the client, whichever attempt it comes from, and keeps the client patient meanwhile. */
export class Delivery {
  readonly #limits: Limits;
  readonly #nowMs: () => number;
  readonly #client: ClientResponse;
  readonly #writer: ClientWriter;
  /** `none` when the client did not ask for a stream */
  readonly #marker: StreamMarker;
  readonly #errorShape: ErrorShape;
  readonly #requestId: string;
  #state: State = idle;
  #served: ServedBy | undefined;
  #hidesUsage = false;
  #hasHiddenTimings = false;
  #scrubber: Scrubber | undefined;
  #responseId: string | undefined;
  #lastByteMs = 0;
  /** of the last byte when it was last asked whether the stream is over: it reads its end for that */
  #judgedMs = 0;
  #firstContentMs: number | undefined;
  usage: Usage = {};

  constructor({ limits, nowMs }: DispatchDeps, call: InferenceCall) {
    const { client, request, requestId, startedMs } = call;
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#client = client;
    this.#marker = request.marker;
    this.#errorShape = request.errorShape;
    this.#requestId = requestId;
    this.#writer = new ClientWriter(client, { limits, nowMs }, startedMs);
  }

  /** on the hub's clock; undefined until there was any content */
  get firstContentMs(): number | undefined {
    return this.#state.kind === "stream"
      ? (this.#state.observer.firstContentMs ?? this.#firstContentMs)
      : this.#firstContentMs;
  }

  /** of a response made here, as soon as it is known */
  get responseId(): string | undefined {
    return this.#state.kind === "stream" ? this.#state.observer.responseId : this.#responseId;
  }

  /** The chunk that was hidden carries `timings`, which are on a visible one where the usage is not asked for. */
  get hasHiddenTimings(): boolean {
    return this.#hasHiddenTimings;
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
    this.#hasHiddenTimings = false;
    this.#scrubber = scrubber;
    this.#responseId = undefined;
    this.#lastByteMs = this.#nowMs();
    this.#state = { kind: "waiting", sinceMs: this.#lastByteMs };
    this.#firstContentMs = undefined;
  }

  /** The attempt failed, and the request waits for the next: nothing is expected of a provider meanwhile. */
  leave(): void {
    this.#state = idle;
  }

  /** @throws HubError when such an answer may not be relayed */
  head(head: ResponseHead): AnswerKind {
    this.#lastByteMs = this.#nowMs();
    const served = this.#servedBy();
    const isStream = this.#marker !== "none";
    const kind = judgeHead(head, served.participantId, isStream);
    if (kind === "refusal") {
      this.#state = { kind, head, chunks: [], length: 0 };
    } else if (kind === "stream") {
      if (!this.#client.isHeadWritten) {
        this.#client.writeHead(head.status, answerHeaders(served, head, contentTypeOf(head, true)));
      }
      this.#state = { kind, observer: this.#observer() };
    } else if (this.#client.isHeadWritten) {
      throw new HubError(
        "provider_invalid_response",
        `The provider of ${served.participantId} responded with JSON after a stream had begun.`,
      );
    } else {
      this.#state = { kind, head, answer: new JsonAnswer(served.participantId) };
    }
    return kind;
  }

  #observer(): StreamObserver {
    const { eventHoldBytes } = this.#limits;
    const scrub = this.#scrubber;
    const hidesUsage = this.#hidesUsage;
    const onHidden = hidesUsage
      ? (chunk: object) => void (this.#hasHiddenTimings = "timings" in chunk)
      : undefined;
    const edits = { hidesUsage, onHidden, scrub };
    return new StreamObserver(
      this.#marker,
      eventHoldBytes,
      (bytes) => this.#writer.write(bytes),
      edits,
    );
  }

  /**
   * @returns false when the client is behind
   * @throws HubError `response_too_large`
   */
  data(chunk: Buffer): boolean {
    const nowMs = this.#nowMs();
    this.#lastByteMs = nowMs;
    const state = this.#state;
    switch (state.kind) {
      case "stream":
        this.#firstContentMs ??= nowMs;
        state.observer.push(chunk, nowMs);
        break;
      case "json":
        this.#firstContentMs ??= nowMs;
        this.#relayJson(state.head, state.answer, chunk);
        break;
      case "refusal":
        // Beyond the bound an error text says nothing new.
        if (state.length < maxRefusalBytes) state.chunks.push(Buffer.from(chunk));
        state.length += chunk.length;
        break;
      case "idle":
      case "waiting":
        break;
    }
    return this.#writer.isWritable;
  }

  #relayJson(head: ResponseHead, answer: JsonAnswer, chunk: Buffer): void {
    const out = answer.push(chunk);
    if (answer.length > this.#limits.responseBodyBytes) {
      throw new HubError(
        "response_too_large",
        `The response is longer than ${this.#limits.responseBodyBytes} bytes (limit ROOMHUB_RESPONSE_BODY_BYTES).`,
      );
    }
    if (out === undefined) return;
    if (!this.#client.isHeadWritten) this.#client.writeHead(head.status, this.#headersFor(head));
    this.#writer.write(out);
  }

  /** @throws HubError when the answer was not whole */
  end(onHandedOver: () => void): DeliveryEnd {
    const state = this.#state;
    switch (state.kind) {
      case "stream":
        return this.#endStream(state.observer, onHandedOver);
      case "json": {
        const { body, usage, responseId } = state.answer.end();
        this.usage = usage;
        this.#responseId = responseId;
        this.#writer.finish();
        if (this.#client.isHeadWritten) {
          if (body.length > 0) this.#writer.write(body);
          this.#client.end(onHandedOver);
        } else {
          this.#client.answer(state.head.status, this.#headersFor(state.head), body, onHandedOver);
        }
        return { kind: "handing-over" };
      }
      case "refusal":
        return { kind: "refused", status: state.head.status, body: Buffer.concat(state.chunks) };
      case "idle":
      case "waiting":
        throw new HubError("provider_invalid_response", "The provider's response had no headers.");
    }
  }

  #endStream(observer: StreamObserver, onHandedOver: () => void): DeliveryEnd {
    const verdict = observer.end(this.#nowMs());
    this.usage = verdict.usage;
    if (verdict.providerError !== undefined) {
      // A client reads an event only once its blank line has come.
      if (verdict.isMidEvent) this.#writer.write("\n\n");
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
    if (isMidEvent && !hasDone) this.#writer.write("\n\n");
    if (this.#marker === "chat" && !hasDone) this.#writer.write("data: [DONE]\n\n");
    this.#writer.finish();
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
    if (this.#state.kind !== "stream" || this.#writer.isFinishing) return false;
    const verdict = this.#state.observer.fail();
    if (!verdict.isOver) return false;
    this.usage = verdict.usage;
    this.#endComplete(verdict.hasDone, verdict.isMidEvent, onHandedOver);
    return true;
  }

  /** @returns whether the stream had said that it is whole, and all of it was with the client's socket */
  wasTaken(): boolean {
    const state = this.#state;
    if (state.kind !== "stream" || this.#writer.isFinishing || !this.#writer.isWritable)
      return false;
    const { isOver, usage } = state.observer.fail();
    this.usage = usage;
    return isOver;
  }

  /** The stream has said that it is whole, and a moment has passed in which its path said nothing. Asks each time once. */
  isLeftOpen(nowMs: number): boolean {
    const state = this.#state;
    if (state.kind !== "stream" || this.#writer.isFinishing) return false;
    if (nowMs - this.#lastByteMs < leftOpenMs || this.#judgedMs === this.#lastByteMs) return false;
    this.#judgedMs = this.#lastByteMs;
    return state.observer.isOver;
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
    const head = this.#state.kind === "refusal" ? this.#state.head : { status, headers: {} };
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
    return this.#state.kind === "refusal" ? forwardResponseHeaders(this.#state.head.headers) : {};
  }

  /** The head is out and the answer cannot be completed: the client must be able to tell. */
  breakOff(error: HubError): void {
    const isAnswered = this.#writer.isFinishing || this.#state.kind === "json";
    if (error.code === "client_stalled" || isAnswered) {
      this.#client.destroy();
      return;
    }
    const context =
      this.#state.kind === "stream"
        ? this.#state.observer.fail()
        : { isMidEvent: false, nextSequenceNumber: 0, response: undefined };
    this.#client.write(errorFrame(error, this.#marker, context, this.#requestId));
    this.#client.end();
  }

  drained(): void {
    const nowMs = this.#nowMs();
    this.#writer.drained(nowMs);
    // Meanwhile the provider was held back; its silence was not its own.
    this.#lastByteMs = nowMs;
  }

  /** @throws HubError when a deadline has passed */
  tick(nowMs: number): void {
    const state = this.#state;
    this.#writer.checkStall(nowMs);
    if (this.#writer.isFinishing) return;
    // While the client is behind, the provider is held back.
    if (state.kind !== "idle" && !this.#writer.isBlocked) {
      const askedMs = state.kind === "waiting" ? state.sinceMs : undefined;
      checkProvider(this.#limits, nowMs, askedMs, this.#lastByteMs);
    }
    const hasNoResponse = state.kind === "idle" || state.kind === "waiting";
    const isWaitingForStream = this.#marker !== "none" && hasNoResponse;
    if (isWaitingForStream && this.#writer.isCommitDue(nowMs)) {
      this.#writer.commit(earlyHeaders(this.#requestId, this.#served));
      return;
    }
    const isBetweenEvents = state.kind === "stream" && state.observer.isBetweenEvents;
    this.#writer.sendKeepalive(nowMs, isBetweenEvents || isWaitingForStream);
  }

  #headersFor(head: ResponseHead): HeaderMap {
    return answerHeaders(this.#servedBy(), head, contentTypeOf(head, false));
  }

  #servedBy(): ServedBy {
    if (this.#served === undefined) throw new Error("an answer without an attempt");
    return this.#served;
  }
}
