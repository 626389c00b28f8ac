import { SURFACES } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import { admit, beginModelRequest, touchRoom } from "../../inference/begin.ts";
import { isOfBatch } from "../../inference/request/needs.ts";
import type { Access } from "../../operations/context.ts";
import type { Claims, Source } from "../../inference/sender/senders.ts";
import type { Dispatch } from "../../inference/dispatch.ts";
import type { InferenceDeps } from "../handlers/inference.ts";
import { type MessageChannel, SocketTurn } from "./socket-turn.ts";
import {
  TurnMemory,
  readTurnMessage,
  type TurnMessage,
  type TurnRequest,
  turnRequest,
  warmUpMessages,
} from "./turn-request.ts";

export interface SocketTurnsDeps extends InferenceDeps {
  newRequestId: () => string;
}

/** The client that opened a socket, as every turn on it needs it. */
export interface SocketClient {
  /** the room's code as the path spells it */
  code: string;
  access: Access | undefined;
  source: Source;
  claims: Claims;
  /** the features that the client requires of every turn, as bits */
  requires: number;
  /** its header `x-roomhub-priority` */
  priority: string | readonly string[] | undefined;
  /** what providers may see of its headers */
  headers: Record<string, string>;
  /** hub ids the handshake already passed */
  hops: readonly string[];
}

/** The socket, as its turns see it. */
export interface TurnsChannel extends MessageChannel {
  /** @param thrown - why a message did not become a turn */
  tell(thrown: unknown, requestId: string): void;
  /** {@link SocketTurns.stop} was called, and the turn that ran is over. */
  onStopped(): void;
}

/** A turn that is being served. */
interface RunningTurn {
  /** undefined until it begins */
  dispatch: Dispatch | undefined;
  response: SocketTurn;
  items: Buffer | undefined;
  goesOnFromMemory: boolean;
}

const surface = SURFACES.find(({ path }) => path === "responses");

/** The turns of one socket, one after the other. Each is an ordinary streaming request. */
export class SocketTurns {
  readonly #channel: TurnsChannel;
  readonly #client: SocketClient;
  readonly #deps: SocketTurnsDeps;
  readonly #memory: TurnMemory;
  #waiting: Buffer[] = [];
  #running: RunningTurn | undefined;
  #isStopped = false;

  constructor(channel: TurnsChannel, client: SocketClient, deps: SocketTurnsDeps) {
    this.#channel = channel;
    this.#client = client;
    this.#deps = deps;
    this.#memory = new TurnMemory(deps.inference.bodies, deps.limits.responseSocketMemoryBytes);
  }

  /** @param message - UTF-8, whole @throws HubError `queue_full` or `hub_overloaded` */
  add(message: Buffer): void {
    const { limits, inference } = this.#deps;
    if (this.#running !== undefined && this.#waiting.length >= limits.responseSocketQueue) {
      throw new HubError(
        "queue_full",
        `${limits.responseSocketQueue} turns are already queued on this socket.`,
      );
    }
    inference.bodies.hold(message.length);
    this.#waiting.push(message);
    this.#advance();
  }

  #advance(): void {
    while (this.#running === undefined && !this.#isStopped) {
      const message = this.#waiting.shift();
      if (message === undefined) return;
      this.#begin(message);
    }
    if (this.#running === undefined) this.#channel.onStopped();
  }

  #begin(data: Buffer): void {
    const requestId = this.#deps.newRequestId();
    try {
      const message = readTurnMessage(data);
      const { previousResponseId } = message;
      const before =
        previousResponseId === undefined ? undefined : this.#memory.itemsUpTo(previousResponseId);
      const request = turnRequest(message, before, this.#deps.limits);
      if (message.isWarmUp) this.#warmUp(message, request, requestId);
      else this.#start(request, requestId, before !== undefined);
    } catch (thrown) {
      this.#channel.tell(thrown, requestId);
    } finally {
      this.#deps.inference.bodies.release(data.length);
    }
  }

  #start({ body, items }: TurnRequest, requestId: string, goesOnFromMemory: boolean): void {
    const { inference, limits, requestsStreamUsage } = this.#deps;
    const { bodies } = inference;
    const { code, access, source, claims, requires, priority, headers, hops } = this.#client;
    if (surface === undefined) throw new Error("there is no surface for responses");
    const isBatch = isOfBatch(priority, body);
    const room = admit(inference, code, access);
    bodies.hold(body.length);
    const response = new SocketTurn(this.#channel, limits.responseBodyBytes);
    const turn: RunningTurn = { dispatch: undefined, response, items, goesOnFromMemory };
    // Set before it begins, since it may end at once.
    this.#running = turn;
    turn.dispatch = beginModelRequest(inference, {
      ...{ requestId, room, access, source, claims, headers, hops },
      ...{ surface, body, requires, isBatch, requestsStreamUsage },
      startedMs: inference.dispatch.nowMs(),
      client: response,
      onSettled: () => {
        bodies.release(body.length);
        this.#settled();
      },
    });
  }

  #settled(): void {
    const turn = this.#running;
    if (turn === undefined) return;
    this.#running = undefined;
    const { result } = turn.response;
    if (result !== undefined && turn.items !== undefined) {
      this.#memory.remember(result.responseId, [turn.items, result.output]);
    } else if (result !== undefined || turn.goesOnFromMemory) {
      this.#memory.forget();
    }
    // Not before the last event of this turn is sent.
    queueMicrotask(() => this.#advance());
  }

  /** `generate: false`: sends no request to a provider, and gives the client an id to continue from. */
  #warmUp(message: TurnMessage, { items }: TurnRequest, requestId: string): void {
    const { inference, limits } = this.#deps;
    touchRoom(inference, inference.findRoom(this.#client.code));
    if (items === undefined) throw unknownContext(message.previousResponseId);
    const responseId = requestId.replace(/^req_/, "resp_");
    if (!this.#memory.remember(responseId, [items])) {
      throw new HubError(
        "request_too_large",
        `The hub remembers at most ${limits.responseSocketMemoryBytes} bytes of a turn (limit ROOMHUB_RESPONSE_SOCKET_MEMORY_BYTES).`,
      );
    }
    for (const text of warmUpMessages(message, responseId, inference.wallMs())) {
      this.#channel.send(text, () => undefined);
    }
  }

  /** The client reads again. */
  drained(): void {
    this.#running?.dispatch?.onDrain();
  }

  /**
   * Nothing new begins; the turn that runs may finish.
   *
   * @returns how many waiting turns are dropped
   */
  stop(): number {
    this.#isStopped = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { length } of waiting) this.#deps.inference.bodies.release(length);
    if (this.#running === undefined) queueMicrotask(() => this.#channel.onStopped());
    return waiting.length;
  }

  /** The client disconnected: the running turn is cancelled, and the history is dropped. */
  abandon(): void {
    this.stop();
    this.#running?.dispatch?.onGone();
    this.#memory.forget();
  }
}

function unknownContext(previousResponseId: string | undefined): HubError {
  if (previousResponseId === undefined) {
    return new HubError("bad_request", "A warm-up takes its context from input alone.");
  }
  const shown = JSON.stringify(previousResponseId.slice(0, 100));
  return new HubError(
    "previous_response_not_found",
    `The previous response ${shown} is not the last one on this socket.`,
    { param: "previous_response_id" },
  );
}
