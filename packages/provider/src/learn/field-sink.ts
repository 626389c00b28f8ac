import type { ProviderSink, ResponseHead } from "../call/provider-call.ts";
import { PassingSink } from "../passing-sink.ts";

/** It is in the first event; comments may precede that while a long prompt is processed. */
const maxSeenBytes = 4 * 1024;

/** Reads a field of a successful response, whose text is near its beginning. */
export class FieldSink extends PassingSink {
  readonly #pattern: RegExp;
  readonly #onFound: (text: string) => void;
  #openBytes = 0;

  /** @param pattern - its first group is the text */
  constructor(sink: ProviderSink, pattern: RegExp, onFound: (text: string) => void) {
    super(sink);
    this.#pattern = pattern;
    this.#onFound = onFound;
  }

  override onHead(head: ResponseHead): void {
    if (head.status < 300) this.#openBytes = maxSeenBytes;
    super.onHead(head);
  }

  override onData(chunk: Buffer): boolean {
    if (this.#openBytes > 0) this.#look(chunk);
    return super.onData(chunk);
  }

  #look(chunk: Buffer): void {
    const [, text] = this.#pattern.exec(chunk.toString("utf8", 0, this.#openBytes)) ?? [];
    this.#openBytes = text === undefined ? this.#openBytes - chunk.length : 0;
    if (text !== undefined) this.#onFound(text);
  }
}
