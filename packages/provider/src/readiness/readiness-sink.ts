import type { ProviderFailure } from "../call/failure.ts";
import type { ProviderSink, ResponseHead } from "../call/provider-call.ts";
import type { ServerReadiness } from "./server-readiness.ts";

/** Passes everything on as it comes, and lets the verdict on the server know first. */
export class ReadinessSink implements ProviderSink {
  readonly #sink: ProviderSink;
  readonly #readiness: ServerReadiness;
  readonly #nowMs: () => number;
  readonly #credentials: number;
  readonly #onOver: (isCancelled: boolean) => void;
  #isOver = false;

  /** @param onOver - it is closed; cancelled when there was neither an end nor a failure */
  constructor(
    sink: ProviderSink,
    readiness: ServerReadiness,
    nowMs: () => number,
    onOver: (isCancelled: boolean) => void,
  ) {
    this.#sink = sink;
    this.#readiness = readiness;
    this.#nowMs = nowMs;
    this.#onOver = onOver;
    this.#credentials = readiness.credentials;
    readiness.callStarted();
  }

  /** In this order: an agent's hub knows that the server loads when it sees the 503. */
  onHead(head: ResponseHead): void {
    this.#readiness.callResponded(head.status, this.#nowMs(), this.#credentials);
    this.#sink.onHead(head);
  }

  onData(chunk: Buffer): boolean {
    this.#readiness.callFlows();
    return this.#sink.onData(chunk);
  }

  onEnd(): void {
    this.#isOver = true;
    this.#sink.onEnd();
  }

  onFailure(failure: ProviderFailure): void {
    this.#isOver = true;
    this.#readiness.callFailed(failure.code, this.#nowMs());
    this.#sink.onFailure(failure);
  }

  onClosed(): void {
    this.#readiness.callEnded(this.#nowMs());
    this.#onOver(!this.#isOver);
    this.#sink.onClosed();
  }

  onBodyDrain(): void {
    this.#sink.onBodyDrain?.();
  }
}
