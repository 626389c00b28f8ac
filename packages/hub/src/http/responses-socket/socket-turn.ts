import {
  createSseReader,
  isObject,
  parseJson,
  parseObject,
  type SseMessage,
  isEventStream,
} from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { ClientResponse } from "../../inference/client-response.ts";
import { lastEventEnd } from "../../inference/stream/event-boundary.ts";
import { errorBody, errorHeaders } from "../error-response.ts";

/** One client's socket, as a turn writes to it. */
export interface MessageChannel {
  /** The client is behind; the socket's `drain` follows. */
  readonly isBehind: boolean;
  /** @param onSent - the socket has the message; with an error it never will */
  send(text: string, onSent: (error?: Error | null) => void): void;
  /** Ends the connection at once. */
  terminate(): void;
}

/** A turn whose response was complete. */
interface TurnResult {
  responseId: string;
  /** the output items, as JSON without the brackets */
  output: Buffer;
}

const terminalType = /"type"\s*:\s*"response\.(?:completed|incomplete)"/;
const terminalNames: ReadonlySet<string> = new Set(["response.completed", "response.incomplete"]);

/**
 * The client's side of one turn: each event of the stream that dispatch writes becomes one message. Comments and
 * `[DONE]` are not sent.
 */
export class SocketTurn implements ClientResponse {
  readonly #channel: MessageChannel;
  readonly #maxEventBytes: number;
  readonly #reader = createSseReader((event) => this.#pass(event));
  /** of an unfinished event, or of a response that is not a stream */
  #pieces: Buffer[] = [];
  #piecesLength = 0;
  #isJson = false;
  #mayBeHalf = false;
  #unsent = 0;
  #isLost = false;
  #onHandedOver: (() => void) | undefined;
  isHeadWritten = false;
  /** undefined unless the response was complete and not failed */
  result: TurnResult | undefined;

  /** @param maxEventBytes - the longest event: it is held until it is whole, since a message is sent whole */
  constructor(channel: MessageChannel, maxEventBytes: number) {
    this.#channel = channel;
    this.#maxEventBytes = maxEventBytes;
  }

  writeHead(_status: number, headers: Record<string, string>): void {
    this.isHeadWritten = true;
    this.#isJson = !isEventStream(headers);
  }

  /** @throws HubError `response_too_large` */
  write(bytes: Buffer | string): boolean {
    const chunk = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
    const end = this.#isJson ? 0 : lastEventEnd(chunk, 0);
    if (end > 0) {
      const whole = chunk.subarray(0, end);
      const held = this.#takePieces();
      // The hub writes after pieces of the provider's stream: the event before may be half of one.
      this.#mayBeHalf = typeof bytes === "string" && held.length > 0;
      this.#reader.feed((held.length === 0 ? whole : Buffer.concat([held, whole])).toString());
    }
    if (end < chunk.length) this.#keep(chunk.subarray(end));
    return !this.#channel.isBehind;
  }

  #keep(piece: Buffer): void {
    this.#piecesLength += piece.length;
    if (this.#piecesLength > this.#maxEventBytes) {
      this.#takePieces();
      throw new HubError(
        "response_too_large",
        `An event of the response is longer than ${this.#maxEventBytes} bytes (limit ROOMHUB_RESPONSE_BODY_BYTES).`,
      );
    }
    // A copy: the chunk is a window into a buffer that is not ours.
    this.#pieces.push(Buffer.from(piece));
  }

  #takePieces(): Buffer {
    const held = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#piecesLength = 0;
    return held;
  }

  #pass({ event, data }: SseMessage): void {
    const isHalf = this.#mayBeHalf && parseJson(data) === undefined;
    this.#mayBeHalf = false;
    if (data === "[DONE]" || isHalf) return;
    if (event === undefined ? terminalType.test(data) : terminalNames.has(event)) this.#note(data);
    this.#send(data);
  }

  /** Notes what the next turn needs of this one. */
  #note(data: string): void {
    // From what is not JSON, the client cannot continue; it gets it unchanged.
    const { type, response } = parseObject(data) ?? {};
    if (typeof type === "string" && terminalNames.has(type)) this.result = readResult(response);
  }

  /** A response that is not a stream, or the provider's own refusal. */
  respond(
    status: number,
    headers: Record<string, string>,
    body: Buffer,
    onHandedOver?: () => void,
  ): void {
    const message =
      status >= 400 ? refusalMessage(status, body, headers) : this.#terminalMessage(body);
    this.isHeadWritten = true;
    this.#send(message);
    this.#finish(onHandedOver);
  }

  /** @throws HubError `provider_invalid_response` */
  end(onHandedOver?: () => void): void {
    if (this.#isJson) this.#send(this.#terminalMessage(this.#takePieces()));
    this.#finish(onHandedOver);
  }

  /** A JSON response, as the event that would have ended its stream. */
  #terminalMessage(body: Buffer): string {
    const text = body.toString("utf8");
    const { response, status } = parseResponse(text);
    if (status !== "failed") this.result = readResult(response);
    return `{"type":"response.${status}","sequence_number":0,"response":${text}}`;
  }

  refuse(error: HubError, headers: Record<string, string>): void {
    this.isHeadWritten = true;
    this.#send(errorMessage(error, headers));
  }

  /** Not needed: the socket's pings keep the connection open. */
  writeProcessing(): void {}

  destroy(): void {
    this.#channel.terminate();
  }

  #send(text: string): void {
    this.#unsent++;
    this.#channel.send(text, this.#sent);
  }

  readonly #sent = (error?: Error | null): void => {
    this.#unsent--;
    // A message that was not sent was not handed over; the end of the socket reports it.
    if (error instanceof Error) this.#isLost = true;
    this.#tellHandedOver();
  };

  #finish(onHandedOver: (() => void) | undefined): void {
    this.#onHandedOver = onHandedOver;
    this.#tellHandedOver();
  }

  #tellHandedOver(): void {
    if (this.#unsent > 0 || this.#isLost) return;
    const tell = this.#onHandedOver;
    this.#onHandedOver = undefined;
    tell?.();
  }
}

/** @throws HubError `provider_invalid_response` for what is no response, or not finished */
function parseResponse(text: string): { response: unknown; status: string } {
  const response = parseObject(text);
  const status = response?.["status"];
  if (status === "completed" || status === "incomplete" || status === "failed")
    return { response, status };
  throw new HubError(
    "provider_invalid_response",
    "The provider's output is not a response object.",
  );
}

function readResult(response: unknown): TurnResult | undefined {
  const { id, output } = isObject(response) ? response : {};
  if (typeof id !== "string" || !Array.isArray(output)) return undefined;
  return { responseId: id, output: Buffer.from(JSON.stringify(output)).subarray(1, -1) };
}

/** lower-case names */
type Headers = Record<string, string>;

/** An error of the hub, as a message. Nested and flat, because SDKs differ, with the headers of an HTTP response. */
export function errorMessage(error: HubError, headers: Headers): string {
  return render(error.status, errorBody(error).error, { ...errorHeaders(error), ...headers });
}

/**
 * A provider's own refusal, as a message.
 *
 * @param body - JSON of OpenAI's shape
 */
function refusalMessage(status: number, body: Buffer, headers: Headers): string {
  const { error } = JSON.parse(body.toString("utf8")) as { error: Record<string, unknown> };
  return render(status, error, headers);
}

function render(status: number, error: Record<string, unknown>, headers: Headers): string {
  const { code = "", message = "", param = "" } = error;
  return JSON.stringify({ type: "error", status, error, code, message, param, headers });
}
