import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from "node:http";
import type { HubIdentity } from "../domain/hub-identity.ts";
import type { HopAgent } from "./agent.ts";
import { isHomeElsewhere, passingHeaders, PEER_HEADER } from "./heads.ts";

/** What became of a request that was piped. */
export type PipeOutcome =
  /** the client's socket took the last byte of the response */
  | { kind: "delivered" }
  /** the client left before */
  | { kind: "gone" }
  /** The other hub took no byte of it, or is not the room's home. It may be sent to another, unless its body is gone. */
  | { kind: "untaken" }
  /** Its response is no stream, and the client has the beginning of one. */
  | { kind: "refused"; body: string }
  /** The other hub took it and ended before its response: not to be sent again. `headers`: of what had begun. */
  | { kind: "broken"; headers: IncomingHttpHeaders | undefined };

/** So much of a body is kept until the home has taken the request. */
const maxHeldBytes = 64 * 1024;
/** So much is read of a refusal that ends a stream. */
const maxRefusalBytes = 64 * 1024;

/**
 * One client's request on its way to the hub that serves it, perhaps to several, one after the other. Bytes pass as they
 * come; back-pressure is TCP's, both ways.
 */
export class PipedRequest {
  readonly #agentOf: (home: HubIdentity) => HopAgent | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  /** undefined once it is more than what is kept */
  #held: Buffer[] | undefined = [];
  #heldBytes = 0;
  #hasBegun = false;
  /** Ends the sending of the body to the hub before. */
  #leave = (): void => undefined;

  /**
   * @param agentOf - undefined for a hub that is not there
   * @param body - what was read of it; left out: nothing
   */
  constructor(
    agentOf: (home: HubIdentity) => HopAgent | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    body?: readonly Buffer[],
  ) {
    this.#agentOf = agentOf;
    this.#request = request;
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

  /** Never rejects. @param facts - value of {@link PEER_HEADER} */
  async send(home: HubIdentity, facts: string): Promise<PipeOutcome> {
    const agent = this.#agentOf(home);
    if (agent === undefined) return { kind: "untaken" };
    if (this.#response.destroyed) return { kind: "gone" };
    const { method, url: path } = this.#request;
    const outgoing = requestHttp({ agent, method, path, headers: this.#headers(facts) });
    const outcome = await new Promise<PipeOutcome>((resolve) => {
      const begin = () => this.#sendBody(outgoing);
      new PipedResponse(outgoing, this.#response, { begin, resolve }).listen();
    });
    this.#leave();
    // Nothing waits for the rest of it, or of its response.
    if (!outgoing.writableFinished || outcome.kind === "gone") outgoing.destroy();
    return outcome;
  }

  #headers(facts: string): string[] {
    const { rawHeaders, headers, method } = this.#request;
    const passing = passingHeaders(rawHeaders);
    passing.push(PEER_HEADER, facts);
    if (headers["transfer-encoding"] !== undefined) passing.push("transfer-encoding", "chunked");
    else if (headers["content-length"] === undefined && method !== "GET" && method !== "HEAD")
      passing.push("content-length", "0");
    return passing;
  }

  #sendBody(outgoing: ClientRequest): void {
    const request = this.#request;
    for (const chunk of this.#held ?? []) outgoing.write(chunk);
    if (request.readableEnded || !hasBody(request)) {
      outgoing.end();
      return;
    }
    this.#hasBegun = true;
    const onData = (chunk: Buffer) => {
      this.#hold(chunk);
      if (!outgoing.write(chunk)) request.pause();
    };
    const onEnd = () => outgoing.end();
    const onDrain = () => request.resume();
    request.on("data", onData).on("end", onEnd);
    outgoing.on("drain", onDrain);
    this.#leave = () => {
      request.off("data", onData).off("end", onEnd);
      outgoing.off("drain", onDrain);
      // Between two hubs nothing listens, and bytes would be lost; after the response they may be.
      if (!this.#response.writableEnded) request.pause();
      this.#leave = () => undefined;
    };
    request.resume();
  }

  #hold(chunk: Buffer): void {
    if (this.#held === undefined) return;
    this.#heldBytes += chunk.length;
    if (this.#heldBytes > maxHeldBytes) this.#held = undefined;
    else this.#held.push(chunk);
  }
}

interface PipedResponseOptions {
  /** The connection is there. */
  begin: () => void;
  resolve: (outcome: PipeOutcome) => void;
}

/** The response of one hub, on its way to the client. */
class PipedResponse {
  readonly #outgoing: ClientRequest;
  readonly #response: ServerResponse;
  readonly #options: PipedResponseOptions;
  #incoming: IncomingMessage | undefined;
  #wasSent = false;
  #isOver = false;
  readonly #onClose = () => this.#clientClosed();
  readonly #onDrain = () => void this.#incoming?.resume();

  constructor(outgoing: ClientRequest, response: ServerResponse, options: PipedResponseOptions) {
    this.#outgoing = outgoing;
    this.#response = response;
    this.#options = options;
  }

  listen(): void {
    const outgoing = this.#outgoing;
    outgoing.on("socket", () => {
      this.#wasSent = true;
      this.#options.begin();
    });
    outgoing.on("continue", () => this.#response.writeContinue());
    outgoing.on("information", (head) => this.#inform(head.statusCode));
    outgoing.on("response", (incoming) => this.#begin(incoming));
    outgoing.on("error", () => this.#failed());
    outgoing.on("close", () => this.#failed());
    this.#response.on("close", this.#onClose);
  }

  /** HTTP/1.0 knows no informational responses. */
  #inform(status: number): void {
    const { httpVersion } = this.#response.req;
    if (httpVersion === "1.1" && status === 102 && !this.#response.headersSent)
      this.#response.writeProcessing();
  }

  #begin(incoming: IncomingMessage): void {
    const response = this.#response;
    if (isHomeElsewhere(incoming)) {
      incoming.resume();
      return this.#end({ kind: "untaken" });
    }
    this.#incoming = incoming;
    // A stream that has begun with comments goes on with a stream alone.
    if (response.headersSent && !isStream(incoming)) return this.#readRefusal(incoming);
    if (!response.headersSent) {
      const headers = passingHeaders(incoming.rawHeaders);
      if (incoming.headers.connection === "close") headers.push("connection", "close");
      response.writeHead(incoming.statusCode ?? 502, headers);
      response.flushHeaders();
    }
    response.on("drain", this.#onDrain);
    incoming.on("data", (chunk: Buffer) => {
      if (!response.write(chunk)) incoming.pause();
    });
    incoming.on("end", () => {
      if (incoming.complete) response.end(() => this.#end({ kind: "delivered" }));
    });
  }

  #readRefusal(incoming: IncomingMessage): void {
    let body = "";
    const end = () => this.#end({ kind: "refused", body });
    incoming.setEncoding("utf8").on("data", (part: string) => {
      body += part;
      if (body.length <= maxRefusalBytes) return;
      end();
      incoming.destroy();
    });
    incoming.on("end", () => {
      if (incoming.complete) end();
    });
  }

  #clientClosed(): void {
    if (!this.#response.writableFinished) this.#end({ kind: "gone" });
  }

  #failed(): void {
    // What came whole is delivered, whatever becomes of the connection.
    if (this.#incoming?.complete === true) return;
    if (this.#wasSent) this.#end({ kind: "broken", headers: this.#incoming?.headers });
    else this.#end({ kind: "untaken" });
  }

  #end(outcome: PipeOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#response.off("close", this.#onClose);
    this.#response.off("drain", this.#onDrain);
    this.#options.resolve(outcome);
  }
}

function isStream({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode === 200 && headers["content-type"]?.startsWith("text/event-stream") === true;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return (
    headers["transfer-encoding"] !== undefined ||
    (headers["content-length"] !== undefined && headers["content-length"] !== "0")
  );
}
