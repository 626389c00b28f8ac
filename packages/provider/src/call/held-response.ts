import type { ResponseHead } from "./provider-call.ts";
import type { PacedSink } from "./paced-sink.ts";

/** Longer than any error text: what goes beyond is the response itself. */
const maxHeldBytes = 64 * 1024;

/** A response that is kept back until it is clear what it says. */
export class HeldResponse {
  readonly head: ResponseHead;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(head: ResponseHead) {
    this.head = head;
  }

  /** @returns false when it is too long to be kept back: release it */
  push(chunk: Buffer): boolean {
    this.#parts.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
    return this.#bytes <= maxHeldBytes;
  }

  text(): string {
    return Buffer.concat(this.#parts).toString("utf8");
  }

  /** @returns false when the sink is behind */
  release(clientResponse: PacedSink): boolean {
    clientResponse.head(this.head);
    const isTaken = clientResponse.data(Buffer.concat(this.#parts));
    this.#parts = [];
    return isTaken;
  }
}

const json = /^application\/(?:[\w.+-]+\+)?json\b/i;

export function isJson(head: ResponseHead): boolean {
  return json.test(head.headers["content-type"] ?? "");
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
