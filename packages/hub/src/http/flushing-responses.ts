import { Roster, type RosterMember } from "@roomhub/protocol";
import type { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/**
 * Responses that have ended but are not flushed yet: their requests have failed and are settled. A client that reads
 * nothing must not keep them in memory for ever. Contract §6. A client that still sends after its response must not keep
 * the connection for ever, either.
 */
export class FlushingResponses {
  readonly #stallMs: number;
  readonly #nowMs: () => number;
  readonly #open = new Roster<FlushingResponse | LateClose>();

  /** @param stallMs - a client that reads nothing for so long is cut off */
  constructor(stallMs: number, nowMs: () => number) {
    this.#stallMs = stallMs;
    this.#nowMs = nowMs;
  }

  /** @param response - just ended */
  note(response: ServerResponse): void {
    if (response.closed || response.writableLength === 0) return;
    this.#add(new FlushingResponse(response, this.#nowMs()), response);
  }

  /** Cuts the connection unless `whole` has closed within so many ms. */
  cutLater(socket: Duplex, ms: number, whole: EventEmitter = socket): void {
    this.#add(new LateClose(socket, this.#nowMs() + ms), whole);
  }

  tick(nowMs: number): void {
    this.#open.forEach((one) => one.tick(nowMs, this.#stallMs));
  }

  #add(one: FlushingResponse | LateClose, whole: EventEmitter): void {
    this.#open.add(one);
    whole.once("close", () => this.#open.remove(one));
  }
}

class LateClose implements RosterMember {
  place = -1;
  readonly #socket: Duplex;
  readonly #dueMs: number;

  constructor(socket: Duplex, dueMs: number) {
    this.#socket = socket;
    this.#dueMs = dueMs;
  }

  tick(nowMs: number): void {
    if (nowMs >= this.#dueMs) this.#socket.destroy();
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
