import { CLOSE_CODES, ProtocolError } from "../wire/close-code.ts";

/** Limit of what is in flight on one stream, however large a window the other end announces. */
const MAX_CREDIT_BYTES = 16 * 1024 * 1024;

/** How many body bytes this side may still send on one stream. */
export class SendCredit {
  readonly #windowBytes: number;
  #availableBytes: number;

  /** @param windowBytes - as the other end announced it */
  constructor(windowBytes: number) {
    this.#windowBytes = Math.min(windowBytes, MAX_CREDIT_BYTES);
    this.#availableBytes = this.#windowBytes;
  }

  get availableBytes(): number {
    return this.#availableBytes;
  }

  /** The caller sends at most `availableBytes`. */
  spend(bytes: number): void {
    this.#availableBytes -= bytes;
  }

  /** @throws {ProtocolError} when the other end returns more credit than was used */
  grant(bytes: number): void {
    const available = this.#availableBytes + bytes;
    if (bytes === 0 || available > this.#windowBytes) {
      throw new ProtocolError(CLOSE_CODES.flowControl, `credit of ${bytes} exceeds the window`);
    }
    this.#availableBytes = available;
  }
}

/**
 * How many body bytes the other end may still send on one stream, and how many were read. Credit is returned in halves of the
 * window, which costs two small frames per window.
 */
export class ReceiveWindow {
  readonly #halfBytes: number;
  #availableBytes: number;
  #readBytes = 0;
  #heldBytes = 0;
  #isHeld = false;

  constructor(windowBytes: number) {
    this.#halfBytes = windowBytes / 2;
    this.#availableBytes = windowBytes;
  }

  /** @throws {ProtocolError} when the other end had no credit for these bytes */
  receive(bytes: number): void {
    if (bytes > this.#availableBytes) {
      throw new ProtocolError(
        CLOSE_CODES.flowControl,
        `${bytes - this.#availableBytes} bytes over`,
      );
    }
    this.#availableBytes -= bytes;
  }

  /**
   * Counts received bytes as read or, when the reader is behind, as unread until `release()`.
   *
   * @returns the credit to return now; 0 for none
   */
  settle(bytes: number, isAccepted: boolean): number {
    if (!isAccepted) this.#isHeld = true;
    if (this.#isHeld) {
      this.#heldBytes += bytes;
      return 0;
    }
    return this.#read(bytes);
  }

  /** The reader has caught up. @returns the credit to return now; 0 for none */
  release(): number {
    const bytes = this.#heldBytes;
    this.#heldBytes = 0;
    this.#isHeld = false;
    return this.#read(bytes);
  }

  #read(bytes: number): number {
    const read = this.#readBytes + bytes;
    if (read === 0 || read < this.#halfBytes) {
      this.#readBytes = read;
      return 0;
    }
    this.#readBytes = 0;
    this.#availableBytes += read;
    return read;
  }
}
