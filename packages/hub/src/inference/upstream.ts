import type { ErrorCode, InferenceProtocol } from "@roomhub/protocol";
import type { Sender } from "./sender/senders.ts";

/** A request to a provider. The body is whole and already carries the provider's own model name. */
export interface UpstreamRequest {
  method: "POST" | "GET" | "DELETE";
  /** below the provider's base URL, with a leading slash */
  path: string;
  /** lower-case names; the upstream adds the participant's own */
  headers: Record<string, string>;
  protocol: InferenceProtocol;
  isStream: boolean;
  body: readonly Buffer[];
  /** for the participant's agent, never for its provider */
  sender: Pick<Sender, "client" | "addressId">;
  /** undefined unless another hub serves it */
  forward?: ForwardFacts | undefined;
}

/** What another hub needs beside the request to serve it as its own. Its body is as the client sent it. */
export interface ForwardFacts {
  readonly requestId: string;
  /** What the participant must be able to do, as its capabilities name it. */
  readonly capability: string;
  /** boot ids of the hubs it has passed, the forwarding one included */
  readonly hops: readonly string[];
  /** until the client's deadline */
  readonly remainingMs: number;
  /** The provider may be asked for the usage of the stream. */
  readonly mayRequestUsage: boolean;
  /** where the owner puts model and defaults in; undefined for a request without a body */
  readonly layout: BodyLayout | undefined;
}

/** Where a request's body has what the hub may touch. Offsets are in bytes of the whole body. */
export interface BodyLayout {
  /** behind the outermost `{` */
  readonly bodyStart: number;
  /** members of the outermost object */
  readonly members: readonly {
    readonly key: string;
    readonly start: number;
    readonly end: number;
  }[];
}

/** What the owner adds to a request, and the other hub must know of. */
export interface Admission {
  /** The response ends in usage that the client did not ask for. */
  requestsUsage: boolean;
  /** What the time to its first content shows of the participant. */
  shows: "speed" | "load" | "nothing";
}

/** Why an owner does not take a request. Nothing reached the participant. */
export interface ForwardRefusal {
  reason: "unknown" | "full" | "loading" | "unroutable" | "unsupported" | "overloaded";
  message: string;
  /** Slots taken by other requests than those of the forwarding hub; undefined when the participant is unknown here. */
  elsewhere: number | undefined;
  limit: number | undefined;
}

/** The part of it that the request itself decides. */
export type RequestForProvider = Omit<UpstreamRequest, "sender">;

export interface ResponseHead {
  status: number;
  /** lower-case names */
  headers: Record<string, string>;
  /** The participant's agent refuses the request itself: `budget`, or `person` for this client's budget. */
  refusal?: string | undefined;
}

export interface UpstreamFailure {
  code: ErrorCode;
  message: string;
}

/**
 * Receives one response. Order: `onHead`, any number of `onData`, then one of `onEnd` and `onFailure`; after a cancel none of
 * them. `onClosed` comes last, exactly once, in every case: the participant is finished with the request.
 */
export interface ResponseSink {
  /** Of a request that another hub serves: it took it. Before all others, and never of a request that is served here. */
  onAdmitted?(admission: Admission): void;
  /** It did not take it, and nothing reached the participant: only `onClosed` follows. */
  onRefused?(refusal: ForwardRefusal): void;
  onHead(head: ResponseHead): void;
  /**
   * The sink may hand the chunk on or copy it, but keeps no reference beyond that: it is a window into a larger buffer.
   *
   * @returns false when the reader is behind; nothing more comes until {@link UpstreamCall.resume}
   */
  onData(chunk: Buffer): boolean;
  /** The path was interrupted, and goes on where it was. Any number of times, before the end. */
  onResumed?(): void;
  onEnd(): void;
  onFailure(failure: UpstreamFailure): void;
  onClosed(): void;
}

/** A request on its way. */
export interface UpstreamCall {
  /** No buffer of the request's body is read any more. Absent where that cannot be known: the system may be writing from it. */
  readonly isBodyTaken?: boolean;
  /** The reader caught up. */
  resume(): void;
  /** Ends the provider's generation. Idempotent; also right after the end. */
  cancel(reason: string): void;
}

/**
 * Takes one participant's requests: a tunnel, a direct endpoint, or the hub node that holds the tunnel.
 * Callbacks and buffers, because web streams and a promise per chunk cost 3 to 7 times as much.
 */
export interface Upstream {
  /** Another hub serves the request: it gets the client's own body and {@link UpstreamRequest.forward}. */
  readonly isRemote?: boolean;
  /** Never throws and never calls the sink before it returns. */
  open(request: UpstreamRequest, sink: ResponseSink): UpstreamCall;
}
