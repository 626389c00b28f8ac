import type { ProviderSink, ResponseHead } from "./provider-call.ts";
import type { ProviderFailure } from "./failure.ts";

/**
 * Gives a sink a response that is made here rather than read from a socket, in the pace the sink takes it. What is written
 * while the sink is behind waits: at most what one chunk of the provider became, since the provider is paused meanwhile.
 *
 * `onClosed` is its last word, when both the response is over and {@link release} was called.
 */
export class PacedSink {
  readonly #sink: ProviderSink;
  #waiting: Buffer[] = [];
  #isBehind = false;
  #hasEnded = false;
  /** nothing more is called but `onClosed` */
  #isOver = false;
  #isReleased = false;
  #isClosed = false;

  constructor(sink: ProviderSink) {
    this.#sink = sink;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  head(head: ResponseHead): void {
    if (!this.#isOver) this.#sink.onHead(head);
  }

  /** @returns false when the source should wait for `resume()` */
  data(bytes: Buffer): boolean {
    if (this.#isOver || bytes.length === 0) return !this.#isBehind;
    if (this.#isBehind) this.#waiting.push(bytes);
    else this.#isBehind = !this.#sink.onData(bytes);
    return !this.#isBehind;
  }

  end(): void {
    this.#hasEnded = true;
    this.#endWhenTaken();
  }

  /** What waits is dropped, as it is when a socket breaks. */
  fail(failure: ProviderFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#waiting = [];
    this.#sink.onFailure(failure);
    this.#closeWhenReleased();
  }

  /** The sink takes bytes again. @returns whether the source may continue */
  resume(): boolean {
    if (this.#isOver) return true;
    this.#isBehind = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const bytes of waiting) this.data(bytes);
    this.#endWhenTaken();
    return !this.#isBehind;
  }

  /** The response is no longer needed. */
  discard(): void {
    this.#isOver = true;
    this.#waiting = [];
    this.#closeWhenReleased();
  }

  /** The last socket is closed. */
  release(): void {
    this.#isReleased = true;
    this.#closeWhenReleased();
  }

  #endWhenTaken(): void {
    if (!this.#hasEnded || this.#isOver || this.#isBehind) return;
    this.#isOver = true;
    this.#sink.onEnd();
    this.#closeWhenReleased();
  }

  #closeWhenReleased(): void {
    if (!this.#isOver || !this.#isReleased || this.#isClosed) return;
    this.#isClosed = true;
    this.#sink.onClosed();
  }
}
