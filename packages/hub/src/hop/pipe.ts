import type { IncomingMessage, ServerResponse } from "node:http";
import { HopExchange, type PipeOutcome } from "./exchange.ts";
import type { Onward } from "./heads.ts";
import type { HopPool } from "./pool.ts";

/** So much of a body is kept until the home has taken the request. */
export const MAX_HELD_BYTES = 64 * 1024;

/**
 * One client's request on its way to the hub that serves it, perhaps to several, one after the other. Bytes pass as they
 * come; back-pressure is TCP's, both ways.
 */
export class PipedRequest {
  readonly request: IncomingMessage;
  readonly #response: ServerResponse;
  /** undefined once it is more than what is kept */
  #held: Buffer[] | undefined = [];
  #heldBytes = 0;
  #hasBegun = false;
  #isListening = false;
  /** undefined between two hubs */
  #exchange: HopExchange | undefined;

  /** @param body - what was read of it; left out: nothing */
  constructor(request: IncomingMessage, response: ServerResponse, body?: readonly Buffer[]) {
    this.request = request;
    this.#response = response;
    if (body === undefined) return;
    this.#held = [...body];
    this.#hasBegun = true;
  }

  /** Nothing of its body was read: it can be served here as it came. */
  get isWhole(): boolean {
    return !this.#hasBegun;
  }

  /** All that was read of its body is kept. */
  get canBeSent(): boolean {
    return this.#held !== undefined;
  }

  /** Never rejects. */
  sendOver(pool: HopPool, onward: Onward): Promise<PipeOutcome> {
    const [request, response] = [this.request, this.#response];
    if (response.destroyed) return Promise.resolve({ kind: "gone" });
    return new Promise((resolve) => {
      const exchange = new HopExchange({
        ...{ pool, request, response, onward },
        onOpen: () => this.#sendBody(exchange),
        onDrain: () => void request.resume(),
        onEnd: (outcome) => {
          this.#exchange = undefined;
          // Between two hubs bytes would be lost; after the response they may be.
          if (this.#isListening && !response.writableEnded) request.pause();
          resolve(outcome);
        },
      });
      exchange.start();
    });
  }

  #sendBody(exchange: HopExchange): void {
    const request = this.request;
    for (const chunk of this.#held ?? []) exchange.writeBody(chunk);
    if (request.readableEnded || !hasBody(request)) return exchange.endBody();
    this.#exchange = exchange;
    this.#hasBegun = true;
    if (!this.#isListening) {
      this.#isListening = true;
      request.on("data", (chunk: Buffer) => this.#onData(chunk));
      request.on("end", () => this.#exchange?.endBody());
    }
    request.resume();
  }

  #onData(chunk: Buffer): void {
    if (this.#exchange === undefined) return;
    this.#hold(chunk);
    if (!this.#exchange.writeBody(chunk)) this.request.pause();
  }

  #hold(chunk: Buffer): void {
    if (this.#held === undefined) return;
    this.#heldBytes += chunk.length;
    if (this.#heldBytes > MAX_HELD_BYTES) this.#held = undefined;
    else this.#held.push(chunk);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return (
    headers["transfer-encoding"] !== undefined ||
    (headers["content-length"] !== undefined && headers["content-length"] !== "0")
  );
}
