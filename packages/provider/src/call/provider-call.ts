import type { ProviderFailure } from "./failure.ts";

export interface ProviderRequest {
  /** from `checkEndpoint()` */
  baseUrl: string;
  method: string;
  /** `/chat/completions`, appended to the base */
  path: string;
  /**
   * Lower-case names, already decided by the caller. What frames the message is ours and ignored here. Not changed
   * once they were given: the same record again means the same headers.
   */
  headers: Record<string, string>;
  /** Whose request it is, equal for equal clients; nothing of it is sent. Left out where that is not known. */
  client?: string;
  /** `"streamed"`: follows through {@link ProviderCall.writeBody} and `endBody`, on a socket of its own. */
  body: readonly Buffer[] | "streamed" | undefined;
  /** The length of a streamed body; undefined: it is sent in chunks. A body of another length fails the call. */
  bodyBytes?: number | undefined;
}

export interface ResponseHead {
  /** 200 to 599; redirects are not followed */
  status: number;
  /** lower-case names; of a repeated header the first. The same record again when the headers are the same. */
  headers: Readonly<Record<string, string>>;
}

/** What a call reports to its caller. Nothing is called synchronously from within `call()`. */
export interface ProviderSink {
  onHead(head: ResponseHead): void;
  /**
   * @param chunk - a view into the socket's read: copy a small one before keeping it long
   * @returns false to pause the socket until {@link ProviderCall.resume}
   */
  onData(chunk: Buffer): boolean;
  /** The response is whole. */
  onEnd(): void;
  /** Exactly one of `onEnd` and `onFailure`, none after `cancel()`. */
  onFailure(failure: ProviderFailure): void;
  /** Exactly once and last: the socket is closed or back in the pool. Also after `cancel()`. */
  onClosed(): void;
  /** The socket takes body bytes again after `writeBody` returned false. */
  onBodyDrain?(): void;
}

export interface ProviderCall {
  resume(): void;
  /** Closes the socket, so that the provider stops generating. */
  cancel(): void;
  /**
   * @param chunk - may be kept: its memory does not change any more
   * @returns false when the caller should wait for `onBodyDrain`. Bytes after the call's end are dropped.
   */
  writeBody(chunk: Buffer): boolean;
  endBody(): void;
  /** No chunk of a streamed body is read any more. Left out where that is not known. */
  readonly isBodyTaken?: boolean;
  /** The provider has taken the connection. Left out where there is none. */
  readonly isAccepted?: boolean;
}
