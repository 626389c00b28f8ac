import { once } from "node:events";
import { WebSocket, type ClientOptions } from "ws";
import { within } from "../waiting.ts";

/** One message of the hub, loosely: tests look at a few fields. */
export interface SocketEvent {
  type: string;
  sequence_number?: number;
  delta?: string;
  status?: number;
  code?: string;
  message?: string;
  headers?: Record<string, string>;
  error?: { code: string; message: string; type: string; param: string };
  response?: { id: string; status: string; output: { content?: { text: string }[] }[] };
}

/** A client of `/responses` over a WebSocket that adds nothing of its own. */
export interface ResponsesClient extends AsyncDisposable {
  readonly socket: WebSocket;
  /** every message so far */
  readonly events: readonly SocketEvent[];
  send(message: object | string | Buffer): void;
  /** The next message that was not read yet. */
  next(): Promise<SocketEvent>;
  /** Sends a `response.create` and takes messages until one of them ends the turn. */
  turn(request: object): Promise<SocketEvent[]>;
  /** Takes messages until one of them ends a turn. */
  answer(): Promise<SocketEvent[]>;
  /** Code and reason of the close. */
  readonly closed: Promise<{ code: number; reason: string }>;
}

const terminal = new Set(["response.completed", "response.incomplete", "response.failed", "error"]);

/** @param url - `http://…/responses` @throws when the handshake is refused */
export async function connectResponses(
  url: string,
  options: ClientOptions = {},
): Promise<ResponsesClient> {
  const socket = new WebSocket(url.replace(/^http/, "ws"), options);
  const client = new RecordingClient(socket);
  await within(once(socket, "open"), "the handshake");
  return client;
}

class RecordingClient implements ResponsesClient {
  readonly socket: WebSocket;
  readonly events: SocketEvent[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  #taken = 0;
  #wake: () => void = () => undefined;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) throw new Error("a binary message");
      this.events.push(JSON.parse(data.toString()) as SocketEvent);
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  send(message: object | string | Buffer): void {
    const isRaw = typeof message === "string" || Buffer.isBuffer(message);
    this.socket.send(isRaw ? message : JSON.stringify(message));
  }

  async next(): Promise<SocketEvent> {
    while (this.#taken >= this.events.length) {
      const arrived = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await within(arrived, "a message");
    }
    return this.events[this.#taken++] as SocketEvent;
  }

  turn(request: object): Promise<SocketEvent[]> {
    this.send({ type: "response.create", ...request });
    return this.answer();
  }

  async answer(): Promise<SocketEvent[]> {
    const events: SocketEvent[] = [];
    do events.push(await this.next());
    while (!terminal.has(events.at(-1)?.type ?? ""));
    return events;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }
}

/** The text of a turn's response, as its deltas had it. */
export function textOf(events: readonly SocketEvent[]): string {
  return events
    .filter(({ type }) => type === "response.output_text.delta")
    .map(({ delta }) => delta)
    .join("");
}
