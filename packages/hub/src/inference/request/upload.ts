import { giveBack } from "@roomhub/protocol";
import type { UpstreamCall } from "../upstream.ts";

/** As much of a form is kept for another participant. Contract §4, "Forms". */
const maxKeptBytes = 1024 * 1024;

/** The client, as a source of bytes. It is paused until the upload is sent somewhere. */
interface UploadSource {
  pause(): void;
  resume(): void;
}

/** Where the bytes go. When it was behind, {@link Upload.drained} follows. */
type UploadTarget = Pick<UpstreamCall, "isBodyTaken" | "writeBody" | "endBody">;

/** The memory that all bodies may take. */
interface Budget {
  hasRoomFor(bytes: number): boolean;
  hold(bytes: number): void;
  release(bytes: number): void;
}

interface UploadOptions {
  /** what has come so far, and what is kept of the rest */
  chunks: Buffer[];
  /** of these, counted in the budget */
  heldBytes: number;
  /** of the whole body, as the client announced it */
  bytes: number | undefined;
  budget: Budget;
  source: UploadSource;
  nowMs: () => number;
}

/** A form that is sent on while it arrives. Its beginning is kept for another attempt, as long as that is short. */
export class Upload {
  readonly #options: UploadOptions;
  #keptBytes: number;
  #isKept = true;
  #isWhole = false;
  #lastByteMs: number;
  #target: UploadTarget | undefined;
  /** what the target may still read, and nothing else */
  #lent: Buffer[] = [];

  constructor(options: UploadOptions) {
    this.#options = options;
    this.#keptBytes = options.heldBytes;
    this.#lastByteMs = options.nowMs();
  }

  /** All of it has come. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** when the client sent something last, in ms on the hub's clock */
  get lastByteMs(): number {
    return this.#lastByteMs;
  }

  /**
   * Whether another participant may get it.
   *
   * @param isUntaken - no model server has read any of it
   */
  mayBeSentAgain(isUntaken: boolean): boolean {
    return this.#isKept && (isUntaken || this.#keptBytes <= maxKeptBytes);
  }

  /**
   * Its length at a participant; undefined where the client does not say how long it is.
   *
   * @param parts - what is kept, as the participant gets it
   */
  bytesAs(parts: readonly Buffer[]): number | undefined {
    const { bytes } = this.#options;
    if (bytes === undefined) return undefined;
    return parts.reduce((sum, { length }) => sum + length, bytes - this.#keptBytes);
  }

  /** @returns false when the client is to wait */
  push(chunk: Buffer): boolean {
    this.#lastByteMs = this.#options.nowMs();
    if (this.#isKept) this.#keep(chunk);
    const hasRoom = this.#target?.writeBody(chunk) ?? false;
    if (!this.#isKept) this.#lent.push(chunk);
    this.#giveBack();
    return hasRoom;
  }

  #giveBack(): void {
    if (this.#lent.length === 0 || this.#target?.isBodyTaken !== true) return;
    this.#lent.forEach(giveBack);
    this.#lent = [];
  }

  end(): void {
    this.#isWhole = true;
    this.#target?.endBody();
  }

  /** @param parts - what is kept, as the target gets it */
  sendTo(target: UploadTarget, parts: readonly Buffer[]): void {
    this.#target = target;
    let hasRoom = true;
    for (const part of parts) {
      if (this.#target !== target) return;
      hasRoom = target.writeBody(part);
    }
    if (hasRoom) this.drained(target);
  }

  /** The target takes more. */
  drained(target: UploadTarget | undefined): void {
    if (target === undefined || target !== this.#target) return;
    this.#giveBack();
    this.#options.source.resume();
  }

  /** It is not sent there any more. */
  leave(): void {
    this.#target = undefined;
    this.#lent = [];
    this.#options.source.pause();
  }

  /** No other attempt follows here. What still comes is sent on. */
  release(): void {
    if (!this.#isKept) return;
    this.#isKept = false;
    this.#options.budget.release(this.#keptBytes);
  }

  /** The same, and what was kept is not read any more. */
  forget(): void {
    this.release();
    this.#options.chunks.length = 0;
  }

  #keep(chunk: Buffer): void {
    const { chunks, budget } = this.#options;
    // All that is kept has been taken.
    if (this.#keptBytes > maxKeptBytes || !budget.hasRoomFor(chunk.length)) return this.forget();
    budget.hold(chunk.length);
    this.#keptBytes += chunk.length;
    chunks.push(chunk);
  }
}
