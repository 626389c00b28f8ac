import type { ProviderSink, ResponseHead } from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";

const fingerprint = /"system_fingerprint": ?"([^"]{1,256})"/;
/** It is in the first event; comments of a long prompt may come before that. */
const maxSeenBytes = 4 * 1024;

/** Passes everything on as it comes, and reads the `system_fingerprint` of a response, which is near its beginning. */
export class FingerprintSink implements ProviderSink {
  readonly #sink: ProviderSink;
  readonly #onFingerprint: (text: string) => void;
  #openBytes = maxSeenBytes;

  constructor(sink: ProviderSink, onFingerprint: (text: string) => void) {
    this.#sink = sink;
    this.#onFingerprint = onFingerprint;
  }

  onHead(head: ResponseHead): void {
    this.#sink.onHead(head);
  }

  onData(chunk: Buffer): boolean {
    if (this.#openBytes > 0) this.#look(chunk);
    return this.#sink.onData(chunk);
  }

  #look(chunk: Buffer): void {
    const [, text] = fingerprint.exec(chunk.toString("latin1", 0, this.#openBytes)) ?? [];
    this.#openBytes = text === undefined ? this.#openBytes - chunk.length : 0;
    if (text !== undefined) this.#onFingerprint(text);
  }

  onEnd(): void {
    this.#sink.onEnd();
  }

  onFailure(failure: ProviderFailure): void {
    this.#sink.onFailure(failure);
  }

  onClosed(): void {
    this.#sink.onClosed();
  }

  onBodyDrain(): void {
    this.#sink.onBodyDrain?.();
  }
}
