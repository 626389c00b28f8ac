import type { ProviderFailure } from "./call/failure.ts";
import type { ProviderSink, ResponseHead } from "./call/provider-call.ts";

/** Passes a response on as it comes. Subclasses read it in passing. */
export abstract class PassingSink implements ProviderSink {
  protected readonly sink: ProviderSink;

  constructor(sink: ProviderSink) {
    this.sink = sink;
  }

  onHead(head: ResponseHead): void {
    this.sink.onHead(head);
  }

  onData(chunk: Buffer): boolean {
    return this.sink.onData(chunk);
  }

  onEnd(): void {
    this.sink.onEnd();
  }

  onFailure(failure: ProviderFailure): void {
    this.sink.onFailure(failure);
  }

  onClosed(): void {
    this.sink.onClosed();
  }

  onBodyDrain(): void {
    this.sink.onBodyDrain?.();
  }
}
