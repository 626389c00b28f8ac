import type { ErrorCode, InferenceProtocol } from "@roomhub/protocol";
import type { Sender } from "./sender/senders.ts";

/** A request to a provider. The body already carries the provider's own model name. */
export interface UpstreamRequest {
  method: "POST" | "GET" | "DELETE";
  /** below the provider's base URL, with a leading slash */
  path: string;
  /** lower-case names; the upstream adds the participant's own */
  headers: Record<string, string>;
  protocol: InferenceProtocol;
  isStream: boolean;
  /** `"streamed"`: follows through {@link UpstreamCall.writeBody} */
  body: readonly Buffer[] | "streamed";
  /** of a streamed body; undefined where it is not known */
  bodyBytes?: number | undefined;
  /** for the participant's agent, never for its provider; absent for false */
  isBatch?: boolean | undefined;
  /** the same */
  sender: Pick<Sender, "client" | "address">;
}

/** The part of an upstream request that the client's request decides. */
export interface RequestForProvider extends Omit<UpstreamRequest, "sender" | "body"> {
  /** what has come of it */
  body: readonly Buffer[];
}

export interface ResponseHead {
  status: number;
  /** lower-case names */
  headers: Record<string, string>;
  /** set when the agent itself refuses: `budget`, `batch` for that of batches, `person` for this client's, `busy` for its slots */
  refusal?: string | undefined;
}

export interface UpstreamFailure {
  code: ErrorCode;
  message: string;
  /** The participant has read nothing of the request, as far as the hub knows. */
  isUnread?: boolean;
}

/**
 * Receives one response. Order: `onHead`, any number of `onData`, then one of `onEnd` and `onFailure`; after a cancel none of
 * them. `onClosed` comes last, exactly once, in every case: the participant is finished with the request.
 */
export interface ResponseSink {
  onHead(head: ResponseHead): void;
  /**
   * The sink may pass the chunk on or copy it, but must not keep it: it is a window into a larger buffer.
   *
   * @returns false when the reader is behind; nothing more comes until {@link UpstreamCall.resume}
   */
  onData(chunk: Buffer): boolean;
  /** An interrupted path has resumed. Any number of times, before the end. */
  onResumed?(): void;
  /** The upstream takes more of the body, after `writeBody` returned false. */
  onBodyDrain?(): void;
  onEnd(): void;
  onFailure(failure: UpstreamFailure): void;
  onClosed(): void;
}

/** A request that was sent. */
export interface UpstreamCall {
  /**
   * No buffer of the request's body is read any more. Absent where that is unknown: the system may still be sending it.
   */
  readonly isBodyTaken?: boolean;
  /** @returns false when the caller should wait for `onBodyDrain`. Bytes after the call's end are dropped. */
  writeBody(chunk: Buffer): boolean;
  endBody(): void;
  /** The reader takes more data. */
  resume(): void;
  /** Ends the provider's generation. Idempotent, also after the end. */
  cancel(reason: string): void;
}

/**
 * Sends requests to one participant, through a tunnel or to its endpoint. Callbacks and buffers, because web streams
 * and a promise per chunk cost 3 to 7 times as much.
 */
export interface Upstream {
  /** Never throws and never calls the sink before it returns. */
  open(request: UpstreamRequest, sink: ResponseSink): UpstreamCall;
}
