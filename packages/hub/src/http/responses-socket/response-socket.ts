import { type Limits, normaliseRoomCode } from "@roomhub/protocol";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { asHubError, HubError } from "../../errors.ts";
import { errorMessage } from "./socket-turn.ts";
import {
  type SocketClient,
  SocketTurns,
  type SocketTurnsDeps,
  type TurnsChannel,
} from "./socket-turns.ts";
import type { BodyBudget } from "../../inference/body-budget.ts";

export interface ResponseSocketDeps extends SocketTurnsDeps {
  /** Whether a hub that stops piped this connection here. */
  endsWithHub: (connection: object) => boolean;
  reportBug: (error: unknown) => void;
}

/** Why no new turn is taken: the socket closes once the running turn is over. */
interface Ending {
  error: HubError;
  /** sent even when no response is pending */
  isAnnounced: boolean;
  closeCode?: number;
}

const textMessage = { binary: false, compress: false, fin: true };
/** Unread errors after which a client counts as hostile. */
const maxUnreadErrors = 64;
/** RFC 6455 §7.4.1 and IANA's registry. */
const closeCodes = { goingAway: 1001, policyViolation: 1008, tryAgainLater: 1013 };

/**
 * One client's WebSocket on `/responses`: messages become turns, and their events become messages. Contract §4; Open
 * Responses 2026-04-24, "WebSocket mode".
 */
export class ResponseSocket implements TurnsChannel {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #deps: ResponseSocketDeps;
  readonly #client: SocketClient;
  readonly #turns: SocketTurns;
  readonly #intake: MessageIntake;
  readonly #life: SocketLife;
  #unreadErrors = 0;
  #ending: Ending | undefined;

  /** Must be called in the turn of the event loop in which the handshake completes. */
  constructor(ws: WebSocket, socket: Duplex, client: SocketClient, deps: ResponseSocketDeps) {
    this.#ws = ws;
    this.#socket = socket;
    this.#deps = deps;
    this.#client = client;
    this.#turns = new SocketTurns(this, client, deps);
    this.#intake = new MessageIntake(deps.inference.bodies, deps.limits);
    this.#life = new SocketLife(deps.limits, deps.inference.dispatch.nowMs());
    this.#listen();
  }

  #listen(): void {
    // Before `ws`, which may find a whole message in the same bytes.
    this.#socket.prependListener("data", this.#receivedBytes);
    this.#socket.on("drain", () => this.#turns.drained());
    const ws = this.#ws;
    ws.binaryType = "nodebuffer";
    ws.on("message", (data: Buffer, isBinary: boolean) => this.#receivedMessage(data, isBinary));
    ws.on("pong", (data: Buffer) => this.#intake.hadControlFrame(data.length));
    ws.on("ping", (data: Buffer) => {
      this.#intake.hadControlFrame(data.length);
      // Pongs to a client that does not read would pile up.
      if (!this.isBehind && ws.readyState === ws.OPEN) ws.pong(data);
    });
    ws.once("close", () => this.#closed());
    // `close` follows. Bytes until then are not a message.
    ws.on("error", () => this.#socket.off("data", this.#receivedBytes));
  }

  // — what comes in —

  readonly #receivedBytes = (chunk: Buffer): void => {
    this.#life.hadBytes();
    try {
      this.#intake.received(chunk.length, this.#deps.inference.dispatch.nowMs());
    } catch (thrown) {
      this.#cutOff(thrown, closeCodes.tryAgainLater);
    }
  };

  #receivedMessage(data: Buffer, isBinary: boolean): void {
    this.#intake.hadMessage();
    try {
      if (this.#ending !== undefined) throw this.#ending.error;
      if (isBinary) throw new HubError("bad_request", "Messages are JSON text; this was binary.");
      this.#turns.add(data);
    } catch (thrown) {
      this.tell(thrown);
    }
  }

  // — what goes out —

  get isBehind(): boolean {
    return this.#socket.writableNeedDrain;
  }

  send(text: string, onSent: (error?: Error | null) => void): void {
    this.#ws.send(text, textMessage, onSent);
  }

  tell(thrown: unknown, requestId = this.#deps.newRequestId()): void {
    if (this.#unreadErrors >= maxUnreadErrors) {
      this.terminate();
      return;
    }
    this.#unreadErrors++;
    const text = errorMessage(this.#asHubError(thrown), { "x-request-id": requestId });
    this.send(text, () => {
      this.#unreadErrors--;
    });
  }

  #asHubError(thrown: unknown): HubError {
    if (!(thrown instanceof HubError)) this.#deps.reportBug(thrown);
    return asHubError(thrown);
  }

  // — deadlines and the end —

  tick(nowMs: number): void {
    if (this.#ending !== undefined) return;
    if (this.#deps.endsWithHub(this.#socket)) return this.drain();
    const refusal = this.#client.access?.refusal(this.#deps.inference.wallMs());
    if (refusal !== undefined) return this.#end(endingOf(refusal));
    const overdue = this.#intake.overdue(nowMs);
    if (overdue !== undefined) {
      this.#cutOff(overdue, closeCodes.policyViolation);
      return;
    }
    switch (this.#life.due(nowMs, this.isBehind)) {
      case "nothing":
        return;
      case "ping":
        this.#ws.ping();
        return;
      case "dead":
        this.terminate();
        return;
      case "expired":
        this.#end({ error: timeIsOver(this.#deps.limits.responseSocketMs), isAnnounced: true });
    }
  }

  isIn(roomCode: string): boolean {
    return normaliseRoomCode(this.#client.code) === roomCode;
  }

  /** Takes no new turns; the running one may finish. */
  drain(): void {
    const message = "A hub is stopping, or the room has moved to another one. Open a new socket.";
    const error = new HubError("hub_draining", message);
    this.#end({ error, isAnnounced: false });
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    for (let waiting = this.#turns.stop(); waiting > 0; waiting--) this.tell(ending.error);
  }

  onStopped(): void {
    if (this.#ws.readyState !== this.#ws.OPEN || this.#ending === undefined) return;
    const { error, isAnnounced, closeCode } = this.#ending;
    if (isAnnounced) this.tell(error);
    if (closeCode !== undefined) return this.#ws.close(closeCode, error.code);
    this.#ws.close(closeCodes.goingAway, `${error.code}: open a new socket to continue`);
  }

  /** The arriving message is not read, so nothing can follow it, not even the end of a turn. */
  #cutOff(thrown: unknown, closeCode: number): void {
    const error = this.#asHubError(thrown);
    this.#ending = { error, isAnnounced: false };
    this.#socket.off("data", this.#receivedBytes);
    this.tell(error);
    this.#ws.pause();
    this.#ws.close(closeCode, error.code);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  #closed(): void {
    const error = new HubError("client_disconnected", "The client closed its socket.");
    this.#ending ??= { error, isAnnounced: false };
    this.#turns.abandon();
    this.#intake.hadMessage();
  }
}

/** The key that opened it is no longer valid: another socket with it would be refused. */
function endingOf(refusal: HubError): Ending {
  return { error: refusal, isAnnounced: true, closeCode: closeCodes.policyViolation };
}

function timeIsOver(lifeMs: number): HubError {
  return new HubError(
    "websocket_connection_limit_reached",
    `A socket stays open for ${lifeMs / 60_000} minutes. Open a new one to continue.`,
  );
}

type IntakeLimits = Pick<Limits, "bodyIdleMs" | "bodyReadMs">;

/** The head and mask of a client's control frame. RFC 6455 §5.2 */
const controlFrameBytes = 6;

/**
 * The bytes of an arriving message. `ws` collects them, so they are counted as they pass: against the memory limit for
 * bodies, and the time limit for a body. Contract §6.
 */
export class MessageIntake {
  readonly #bodies: BodyBudget;
  readonly #limits: IntakeLimits;
  #bytes = 0;
  #beganMs = 0;
  #lastMs = 0;

  constructor(bodies: BodyBudget, limits: IntakeLimits) {
    this.#bodies = bodies;
    this.#limits = limits;
  }

  /** Called before `ws` sees the bytes. @throws HubError `hub_overloaded` */
  received(bytes: number, nowMs: number): void {
    this.#bodies.hold(bytes);
    if (this.#bytes === 0) this.#beganMs = nowMs;
    this.#bytes += bytes;
    this.#lastMs = nowMs;
  }

  /** Some of the bytes were a ping or a pong. */
  hadControlFrame(payloadBytes: number): void {
    this.#release(Math.min(this.#bytes, payloadBytes + controlFrameBytes));
  }

  /** The bytes were a complete message, which its holder counts from now on. */
  hadMessage(): void {
    this.#release(this.#bytes);
  }

  /** @returns `request_read_timeout` when a message takes too long; undefined when none does */
  overdue(nowMs: number): HubError | undefined {
    const { bodyIdleMs, bodyReadMs } = this.#limits;
    const isLate = nowMs - this.#lastMs > bodyIdleMs || nowMs - this.#beganMs > bodyReadMs;
    if (this.#bytes === 0 || !isLate) return undefined;
    return new HubError("request_read_timeout", "The message did not arrive in time.");
  }

  #release(bytes: number): void {
    this.#bodies.release(bytes);
    this.#bytes -= bytes;
  }
}

/** What is due on a socket: nothing, a ping, or its end because the client is unresponsive or its time is over. */
type Due = "nothing" | "ping" | "dead" | "expired";

const maxMissedPings = 2;

type LifeLimits = Pick<Limits, "responseSocketMs" | "responseSocketPingMs">;

/** How long a socket may stay open, and whether its client still responds. Reads no clock. */
export class SocketLife {
  readonly #limits: LifeLimits;
  readonly #openedMs: number;
  #pingedMs: number;
  #missedPings = 0;

  constructor(limits: LifeLimits, openedMs: number) {
    this.#limits = limits;
    this.#openedMs = openedMs;
    this.#pingedMs = openedMs;
  }

  /** Bytes arrived. */
  hadBytes(): void {
    this.#missedPings = 0;
  }

  /** @param isBehind - the client would get a ping late; the stall limit of its turn applies instead */
  due(nowMs: number, isBehind: boolean): Due {
    const { responseSocketMs, responseSocketPingMs } = this.#limits;
    if (nowMs - this.#openedMs > responseSocketMs) return "expired";
    if (nowMs - this.#pingedMs <= responseSocketPingMs) return "nothing";
    this.#pingedMs = nowMs;
    if (isBehind) return "nothing";
    if (this.#missedPings >= maxMissedPings) return "dead";
    this.#missedPings++;
    return "ping";
  }
}
