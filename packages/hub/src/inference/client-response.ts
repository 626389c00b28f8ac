import type { HubError } from "../errors.ts";

/** The client's side of one request, as dispatch needs it. */
export interface ClientResponse {
  readonly isHeadWritten: boolean;
  /** At most once. */
  writeHead(status: number, headers: Record<string, string>): void;
  /**
   * @param isLast - Nothing else reads the bytes, or what else is in a message of a tunnel before them: their memory may
   * be given back
   * @returns false when the client is behind; `onDrain` follows
   */
  write(bytes: Buffer | string, isLast?: boolean): boolean;
  /**
   * Head and whole body at once.
   *
   * @param onHandedOver - called when the client's socket has the last byte. Without it, the implementation makes sure
   * that the client reads the rest or is disconnected
   */
  respond(
    status: number,
    headers: Record<string, string>,
    body: Buffer,
    onHandedOver?: () => void,
  ): void;
  /** Clean end. @param onHandedOver - see {@link respond} */
  end(onHandedOver?: () => void): void;
  /** Sends an error as the whole response. Only before the head. */
  refuse(error: HubError, headers: Record<string, string>): void;
  /** Sends `102 Processing` to clients known to skip it, else nothing. */
  writeProcessing(): void;
  /** Ends the connection so that the client notices that the response is not complete. */
  destroy(): void;
}

/** Events of a client's socket. */
export interface ClientListener {
  onDrain(): void;
  /** The client disconnected before it had the whole response. */
  onGone(): void;
}
