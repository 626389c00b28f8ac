import {
  forwardResponseHeaders,
  TRANSLATED_HEADER,
  type CountedResponse,
  type InferenceProtocol,
} from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { DispatchDeps, InferenceCall, Scrubber } from "../inference-call.ts";
import type { ServedBy } from "../request-facts.ts";
import type { ResponseHead } from "../upstream.ts";
import { ClientWriter } from "./client-writer.ts";
import { checkProvider } from "./deadline.ts";
import { errorFrame } from "./error-frame.ts";
import { JsonResponse } from "./json-response.ts";
import { PlainResponse } from "./plain-response.ts";
import { readRefusal, type ProviderRefusal } from "./refusal.ts";
import { judgeHead } from "./response-gate.ts";
import {
  earlyHeaders,
  type HeaderMap,
  refusalHeaders,
  relayedHeaders,
} from "./response-headers.ts";
import type { FirstEvent } from "../stream/observe.ts";
import { StreamedResponse, type StreamEnd } from "./streamed-response.ts";
import { type WholeBody, WholeRelay } from "./whole-relay.ts";

/** How a response ended. Failures are thrown. */
type DeliveryEnd =
  | StreamEnd
  /** The provider refused the request; `body` is its error, unscrubbed. */
  | { kind: "refused"; status: number; body: Buffer };

type State =
  /** No participant has the request. */
  | { kind: "idle" }
  | { kind: "waiting"; sinceMs: number }
  | { kind: "stream"; stream: StreamedResponse }
  | { kind: "whole"; whole: WholeRelay }
  | { kind: "refusal"; head: ResponseHead; chunks: Buffer[]; length: number };

type DeliveryDeps = Pick<DispatchDeps, "limits" | "nowMs" | "detail">;

const idle: State = { kind: "idle" };

const maxRefusalBytes = 64 * 1024;
/** The context of an error frame after comments alone. */
const nothingSent = { isMidEvent: false, nextSequenceNumber: 0, response: undefined };

/** Surfaces whose responses are pictures. */
const pictures: ReadonlySet<InferenceProtocol> = new Set(["imageGenerations", "imageEdits"]);

/** Delivers one response to the client, whichever attempt it comes from, and keeps the connection alive until then. */
export class Delivery {
  readonly #deps: DeliveryDeps;
  readonly #call: InferenceCall;
  readonly #writer: ClientWriter;
  #state: State = idle;
  #served: ServedBy | undefined;
  #isCommittedForLoading = false;
  #hidesUsage = false;
  #scrubber: Scrubber | undefined;
  #lastByteMs = 0;

  constructor(deps: DeliveryDeps, call: InferenceCall) {
    this.#deps = deps;
    this.#call = call;
    this.#writer = new ClientWriter(call.client, deps, call.startedMs);
  }

  /** When it had content, in ms on the hub's clock; undefined until then. */
  get contentMs(): number | undefined {
    return this.#state.kind === "stream"
      ? this.#state.stream.contentMs
      : this.relayed?.firstContentMs;
  }

  /** of a stream, see {@link StreamedResponse.outputTokens} */
  get outputTokens(): number {
    return this.stream?.outputTokens ?? 0;
  }

  /**
   * What a budget counts of the request: nothing where an error came in place of a response, or none at all. One that
   * ended before it had any may have been worked on, unless the way to the provider failed.
   *
   * @param error - undefined when the response was complete
   */
  counted(error: HubError | undefined): Omit<CountedResponse, "requestBytes"> | undefined {
    const isWhole = error === undefined;
    const nothing = { usage: {}, contentEvents: 0, responseBytes: 0, isWhole };
    switch (this.#state.kind) {
      case "idle":
      case "refusal":
        return undefined;
      case "waiting":
        return error?.status === 502 ? undefined : nothing;
      case "stream": {
        const { seenUsage: usage, outputTokens: contentEvents } = this.#state.stream;
        return { ...nothing, usage, contentEvents };
      }
      case "whole": {
        const { usage, length: responseBytes } = this.#state.whole.body;
        return { ...nothing, usage, contentEvents: undefined, responseBytes };
      }
    }
  }

  /** undefined when no stream is relayed */
  get stream(): StreamedResponse | undefined {
    return this.#state.kind === "stream" ? this.#state.stream : undefined;
  }

  /** undefined until the provider responds with something to relay */
  get relayed(): StreamedResponse | WholeBody | undefined {
    return this.#state.kind === "whole" ? this.#state.whole.body : this.stream;
  }

  /**
   * An attempt begins.
   *
   * @param hidesUsage - the hub added the request for the stream's usage, so the usage is not for the client
   * @param scrubber - removes the participant's secrets from the provider's error texts
   */
  begin(served: ServedBy, hidesUsage: boolean, scrubber: Scrubber | undefined): void {
    this.#served = served;
    this.#hidesUsage = hidesUsage;
    this.#scrubber = scrubber;
    this.#lastByteMs = this.#deps.nowMs();
    this.#state = { kind: "waiting", sinceMs: this.#lastByteMs };
  }

  /** The attempt failed and the request waits for the next: no deadline of a provider applies. */
  leave(): void {
    this.#state = idle;
  }

  /**
   * @param onFirstEvent - of a stream
   * @throws HubError when such a response may not be relayed
   */
  head(head: ResponseHead, onFirstEvent: FirstEvent): void {
    this.#lastByteMs = this.#deps.nowMs();
    const served = this.#servedBy();
    const expected = {
      isStream: this.#call.request.marker !== "none",
      content: this.#call.request.surface?.content,
    };
    const kind = judgeHead(head, served.participantId, expected);
    if (kind === "refusal") {
      this.#state = { kind, head, chunks: [], length: 0 };
    } else if (kind === "stream") {
      if (!this.#writer.client.isHeadWritten) {
        this.#writer.client.writeHead(head.status, relayedHeaders(served, head, kind));
      }
      this.#state = { kind, stream: this.#streamFrom(served, head, onFirstEvent) };
    } else if (this.#writer.client.isHeadWritten) {
      throw new HubError(
        "provider_invalid_response",
        `The provider of ${served.participantId} responded with no stream after one had begun.`,
      );
    } else {
      this.#state = { kind: "whole", whole: this.#wholeFrom(served, head, kind) };
    }
  }

  #streamFrom(
    { participantId }: ServedBy,
    { headers }: ResponseHead,
    onFirstEvent: FirstEvent,
  ): StreamedResponse {
    return new StreamedResponse(this.#writer, {
      participantId,
      marker: this.#call.request.marker,
      isTranslated: headers[TRANSLATED_HEADER] !== undefined,
      eventHoldBytes: this.#deps.limits.eventHoldBytes,
      hidesUsage: this.#hidesUsage,
      scrub: this.#scrubber,
      // The tokens of a key with a budget are counted, too.
      detail: this.#call.spend === undefined ? this.#deps.detail : { isWatched: true },
      onFirstEvent,
    });
  }

  #wholeFrom(served: ServedBy, head: ResponseHead, kind: "json" | "plain"): WholeRelay {
    const { responseBodyBytes, mediaResponseBytes } = this.#deps.limits;
    const isJson = kind === "json";
    const body = isJson
      ? new JsonResponse(served.participantId, pictures.has(this.#call.request.protocol))
      : new PlainResponse();
    return new WholeRelay(this.#writer, body, {
      status: head.status,
      headers: relayedHeaders(served, head, kind),
      maxBytes: isJson ? responseBodyBytes : mediaResponseBytes,
      knob: isJson ? "RESPONSE_BODY_BYTES" : "MEDIA_RESPONSE_BYTES",
    });
  }

  /**
   * @returns false when the client is behind
   * @throws HubError `response_too_large`
   */
  data(chunk: Buffer): boolean {
    const nowMs = this.#deps.nowMs();
    this.#lastByteMs = nowMs;
    const state = this.#state;
    switch (state.kind) {
      case "stream":
        state.stream.push(chunk, nowMs);
        break;
      case "whole":
        state.whole.push(chunk, nowMs);
        break;
      case "refusal":
        // The rest of a longer error text adds nothing.
        if (state.length < maxRefusalBytes) state.chunks.push(Buffer.from(chunk));
        state.length += chunk.length;
        break;
      case "idle":
      case "waiting":
        break;
    }
    return this.#writer.isWritable;
  }

  /** @throws HubError when the response was not complete */
  end(onHandedOver: () => void): DeliveryEnd {
    const state = this.#state;
    switch (state.kind) {
      case "stream":
        return state.stream.end(this.#deps.nowMs(), onHandedOver);
      case "whole":
        state.whole.end(onHandedOver);
        return { kind: "handing-over" };
      case "refusal":
        return { kind: "refused", status: state.head.status, body: Buffer.concat(state.chunks) };
      case "idle":
      case "waiting":
        throw new HubError("provider_invalid_response", "The provider's response had no headers.");
    }
  }

  /** See {@link StreamedResponse.endIfOver}. */
  endIfOver(onHandedOver: () => void): boolean {
    return this.stream?.endIfOver(onHandedOver) ?? false;
  }

  /** See {@link StreamedResponse.isLeftOpen}. */
  isLeftOpen(nowMs: number): boolean {
    return this.stream?.isLeftOpen(nowMs, this.#lastByteMs) ?? false;
  }

  /**
   * Sends the provider's own refusal to the client. Contract §6.
   *
   * @param text - its body, scrubbed of the participant's secrets
   * @throws HubError when the refusal concerns the participant, not the request
   */
  refuse(status: number, text: string): ProviderRefusal {
    const refusal = this.readRefusal(status, text);
    if (this.#writer.client.isHeadWritten) throw refusal.error;
    const head = this.#state.kind === "refusal" ? this.#state.head : { status, headers: {} };
    const headers = refusalHeaders(this.#servedBy(), head);
    if (refusal.body === undefined) this.#writer.client.refuse(refusal.error, headers);
    else this.#writer.client.respond(status, headers, Buffer.from(refusal.body));
    return refusal;
  }

  /** The same without sending it. */
  readRefusal(status: number, text: string): ProviderRefusal {
    return readRefusal(this.#servedBy().participantId, status, text, this.#call.request.errorShape);
  }

  /** The headers of a refusal that may be relayed, for example `retry-after`. Contract §4. */
  refusalHints(): HeaderMap {
    return this.#state.kind === "refusal" ? forwardResponseHeaders(this.#state.head.headers) : {};
  }

  /** The headers are written and the response cannot be completed: makes the client notice. */
  breakOff(error: HubError): void {
    // A frame inside JSON or sound, or after the last byte, would be part of the response.
    const cannotTakeFrame = this.#writer.isFinishing || this.#state.kind === "whole";
    if (error.code === "client_stalled" || cannotTakeFrame) {
      this.#writer.client.destroy();
      return;
    }
    const context = this.stream?.breakOff() ?? nothingSent;
    this.#writer.client.write(
      errorFrame(error, this.#call.request.marker, context, this.#call.requestId),
    );
    this.#writer.client.end();
  }

  drained(): void {
    const nowMs = this.#deps.nowMs();
    this.#writer.drained(nowMs);
    // The provider was paused, so its silence does not count.
    this.#lastByteMs = nowMs;
  }

  /** The client has no more than the comment that says what is loaded: it can get any response. */
  get hasOnlyWaited(): boolean {
    const isBegun = this.#state.kind === "whole" || this.stream !== undefined;
    return this.#isCommittedForLoading && !isBegun;
  }

  /**
   * @param loading - that a model is being loaded for the response, in words; undefined when none is
   * @throws HubError when a deadline has passed
   */
  tick(nowMs: number, loading: string | undefined): void {
    const state = this.#state;
    this.#writer.checkStall(nowMs);
    if (this.#writer.isFinishing) return;
    // While the client is behind, the provider is paused.
    if (state.kind !== "idle" && !this.#writer.isBlocked) {
      const sentMs = this.#call.request.upload?.lastByteMs ?? 0;
      const waitingSinceMs = state.kind === "waiting" ? Math.max(state.sinceMs, sentMs) : undefined;
      checkProvider(this.#deps.limits, nowMs, waitingSinceMs, Math.max(this.#lastByteMs, sentMs));
    }
    const hasNoResponse = state.kind === "idle" || state.kind === "waiting";
    const isWaitingForStream = this.#call.request.beginsAsStream && hasNoResponse;
    if (isWaitingForStream && this.#writer.isCommitDue(nowMs, loading !== undefined)) {
      this.#isCommittedForLoading = loading !== undefined;
      this.#writer.commit(earlyHeaders(this.#call.requestId, this.#served), loading);
      return;
    }
    const stream = this.stream;
    const mayWrite = isWaitingForStream || stream?.isBetweenEvents === true;
    this.#writer.sendKeepalive(nowMs, mayWrite, stream?.keepalive);
  }

  #servedBy(): ServedBy {
    if (this.#served === undefined) throw new Error("a response without an attempt");
    return this.#served;
  }
}
