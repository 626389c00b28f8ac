import type { ProviderSink } from "../call/provider-call.ts";
import { PassingSink } from "../passing-sink.ts";

const fingerprint = /"system_fingerprint": ?"([^"]{1,256})"/;
/** It is in the first event; comments may precede that while a long prompt is processed. */
const maxSeenBytes = 4 * 1024;

/** Reads the `system_fingerprint` of a response, which is near its beginning. */
export class FingerprintSink extends PassingSink {
  readonly #onFingerprint: (text: string) => void;
  #openBytes = maxSeenBytes;

  constructor(sink: ProviderSink, onFingerprint: (text: string) => void) {
    super(sink);
    this.#onFingerprint = onFingerprint;
  }

  override onData(chunk: Buffer): boolean {
    if (this.#openBytes > 0) this.#look(chunk);
    return super.onData(chunk);
  }

  #look(chunk: Buffer): void {
    const [, text] = fingerprint.exec(chunk.toString("latin1", 0, this.#openBytes)) ?? [];
    this.#openBytes = text === undefined ? this.#openBytes - chunk.length : 0;
    if (text !== undefined) this.#onFingerprint(text);
  }
}
