import { Roster, type RosterMember } from "@roomhub/protocol";
import type { ServerResponse } from "node:http";

/**
 * Responses that have ended but are not flushed yet: their requests have failed and are settled. A client that reads
 * nothing must not keep them in memory for ever. Contract §6.
 */
export class FlushingResponses {
  readonly #stallMs: number;
  readonly #nowMs: () => number;
  readonly #responses = new Roster<FlushingResponse>();

  /** @param stallMs - a client that reads nothing for so long is cut off */
  constructor(stallMs: number, nowMs: () => number) {
    this.#stallMs = stallMs;
    this.#nowMs = nowMs;
  }

  /** @param response - just ended */
  note(response: ServerResponse): void {
    if (response.closed || response.writableLength === 0) return;
    const flushing = new FlushingResponse(response, this.#nowMs());
    this.#responses.add(flushing);
    response.on("close", () => this.#responses.remove(flushing));
  }

  tick(nowMs: number): void {
    this.#responses.forEach((one) => one.tick(nowMs, this.#stallMs));
  }
}

class FlushingResponse implements RosterMember {
  place = -1;
  readonly #response: ServerResponse;
  #unsentBytes: number;
  #sinceMs: number;

  constructor(response: ServerResponse, nowMs: number) {
    this.#response = response;
    this.#unsentBytes = response.writableLength;
    this.#sinceMs = nowMs;
  }

  tick(nowMs: number, stallMs: number): void {
    const { writableLength } = this.#response;
    if (writableLength < this.#unsentBytes) {
      this.#unsentBytes = writableLength;
      this.#sinceMs = nowMs;
    } else if (nowMs - this.#sinceMs > stallMs) {
      this.#response.destroy();
    }
  }
}
