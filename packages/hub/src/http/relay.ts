import { type ErrorShape, giveBackBehind, type Sending, type TurnEnd } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HubError } from "../errors.ts";
import type { ClientListener, ClientResponse } from "../inference/client-response.ts";
import { sendError } from "./error-response.ts";
import type { FlushingResponses } from "./flushing-responses.ts";
import type { Deliveries } from "./hops/deliveries.ts";
import { headPairs, setCommonHeaders } from "./response-head.ts";

export interface ResponseOptions {
  requestId: string;
  errorShape: ErrorShape;
  flushing: FlushingResponses;
  turnEnd: TurnEnd;
  /** for a request that another hub piped here: the client has the response only when that hub says so */
  delivery?: { deliveries: Deliveries; hubId: string } | undefined;
}

/** One client's socket, as dispatch sees it: takes the bytes of the response, reports back-pressure and disconnects. */
export class SocketClientResponse implements ClientResponse, Sending {
  readonly #response: ServerResponse;
  readonly #options: ResponseOptions;
  readonly #skipsInformational: boolean;
  #listener: ClientListener | undefined;
  #isGone = false;
  #isHeadSent = false;
  #whole: { body: Buffer; onHandedOver: (() => void) | undefined } | undefined;

  /** @param response - without head and headers so far */
  constructor(request: IncomingMessage, response: ServerResponse, options: ResponseOptions) {
    this.#response = response;
    this.#options = options;
    this.#skipsInformational = isKnownToSkipInformational(request);
  }

  /** Reports drains and the disconnect of the client from now on; a client that has already left, at once. */
  listen(listener: ClientListener): void {
    this.#listener = listener;
    const response = this.#response;
    const onClose = () => {
      if (this.#isGone) return;
      this.#isGone = true;
      if (!response.writableFinished) listener.onGone();
    };
    response.on("drain", () => listener.onDrain());
    response.on("close", onClose);
    if (response.destroyed || response.closed) onClose();
  }

  get isHeadWritten(): boolean {
    return this.#response.headersSent;
  }

  writeHead(status: number, headers: Record<string, string>): void {
    this.#response.writeHead(status, this.#head(headers));
    // What came with the head is written with it.
    process.nextTick(flushHead, this);
  }

  /** Sends a head that nothing has followed so far. */
  flushHead(): void {
    if (this.#isHeadSent || this.#response.destroyed || !this.#response.headersSent) return;
    this.#isHeadSent = true;
    this.#response.flushHeaders();
  }

  write(bytes: Buffer | string, isLast = false): boolean {
    this.#isHeadSent = true;
    if (this.#response.destroyed) return true;
    if (!isLast || typeof bytes === "string") return this.#response.write(bytes);
    return this.#response.write(bytes, (error) => {
      // What a broken connection had not taken may still be read.
      if (error == null) giveBackBehind(bytes, frameHeadBytes);
    });
  }

  respond(
    status: number,
    headers: Record<string, string>,
    body: Buffer,
    onHandedOver?: () => void,
  ): void {
    const head = this.#head(headers);
    head.push("content-length", String(body.length));
    this.#response.writeHead(status, head);
    this.#whole = { body, onHandedOver };
    this.#options.turnEnd.add(this);
  }

  /** Sends a whole response, whose head is written. */
  send(): void {
    const whole = this.#whole;
    // Of a client that has left, `close` is reported.
    if (whole === undefined || this.#response.destroyed) return;
    this.#whole = undefined;
    this.#response.end(whole.body, this.#onceTaken(whole.onHandedOver));
    if (whole.onHandedOver === undefined) this.#options.flushing.note(this.#response);
  }

  end(onHandedOver?: () => void): void {
    this.#isHeadSent = true;
    this.#response.end(this.#onceTaken(onHandedOver));
    if (onHandedOver === undefined) this.#options.flushing.note(this.#response);
  }

  refuse(error: HubError, headers: Record<string, string>): void {
    if (this.#response.destroyed) return;
    const { requestId, errorShape, flushing } = this.#options;
    setCommonHeaders(this.#response, requestId, errorShape);
    sendError(this.#response, error, errorShape, flushing, headers);
    flushing.note(this.#response);
  }

  writeProcessing(): void {
    if (this.#skipsInformational) this.#response.writeProcessing();
  }

  destroy(): void {
    this.send();
    // The head leaves even so: without one, a client takes a broken response for a hub that cannot be reached.
    this.flushHead();
    this.#response.socket?.uncork();
    this.#response.destroy();
  }

  /** The client of a piped request is at another hub, which reports the delivery. */
  #onceTaken(onHandedOver: (() => void) | undefined): (() => void) | undefined {
    const { delivery, requestId } = this.#options;
    if (onHandedOver === undefined || delivery === undefined) return onHandedOver;
    delivery.deliveries.expect(requestId, {
      ...{ hubId: delivery.hubId, hop: this.#response.req.socket },
      onEnd: (outcome) => (outcome === "delivered" ? onHandedOver() : this.#listener?.onGone()),
    });
    return undefined;
  }

  #head(headers: Record<string, string>): string[] {
    return headPairs(this.#options.requestId, this.#options.errorShape, headers);
  }
}

/** In front of a part of a body in a message of its own. In so few bytes there is no part of another body. */
const frameHeadBytes = 9;

function flushHead(client: SocketClientResponse): void {
  client.flushHead();
}

/**
 * Contract §4: `102 Processing` resets undici's 300 s header limit, but other clients and proxies take it for the
 * response. So only HTTP/1.1 from the two SDKs known to skip it, with no proxy in sight.
 */
function isKnownToSkipInformational({ httpVersion, headers }: IncomingMessage): boolean {
  const language = headers["x-stainless-lang"];
  if (httpVersion !== "1.1" || (language !== "js" && language !== "python")) return false;
  return !Object.keys(headers).some(
    (name) => name === "via" || name === "forwarded" || name.startsWith("x-forwarded-"),
  );
}
