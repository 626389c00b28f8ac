import type {
  IncomingRequest,
  RequestBodyHandler,
} from "../../../packages/tunnel/src/streams/agent-stream.ts";
import type {
  RequestStream,
  ResponseHandler,
} from "../../../packages/tunnel/src/streams/outgoing-request.ts";

export interface Script {
  requests: number;
  body: string;
  /** What a response is made of. */
  chunks: string[];
  windowBytes: number;
}

/** A request as the hub sees it. */
export class Exchange implements ResponseHandler {
  text = "";
  hasHead = false;
  end: "complete" | "reset" | undefined;
  isClosed = false;
  isCancelled = false;
  stream: RequestStream | undefined;
  readonly #script: Script;
  readonly #problems: string[];

  constructor(script: Script, problems: string[]) {
    this.#script = script;
    this.#problems = problems;
  }

  onHead(): void {
    if (this.hasHead) this.#problems.push("a response begins twice");
    this.hasHead = true;
  }

  onData(chunk: Buffer): boolean {
    this.text += chunk.toString("latin1");
    if (!this.#script.chunks.join("").startsWith(this.text))
      this.#problems.push(`of the response arrives: ${this.text}`);
    return true;
  }

  onEnd(): void {
    this.#over("complete");
    if (this.text !== this.#script.chunks.join(""))
      this.#problems.push(`the response is complete with: ${this.text}`);
  }

  onReset(): void {
    this.#over("reset");
  }

  onClosed(): void {
    if (this.isClosed) this.#problems.push("a request is closed twice");
    this.isClosed = true;
  }

  #over(end: "complete" | "reset"): void {
    if (this.end !== undefined) this.#problems.push("a request ends twice");
    this.end = end;
  }
}

/** The same request at the agent. */
export class Served implements RequestBodyHandler {
  written = 0;
  isOver = false;
  mustConfirm = false;
  isFull = false;
  text: string;
  readonly request: IncomingRequest;
  readonly #script: Script;
  readonly #problems: string[];

  constructor(request: IncomingRequest, script: Script, problems: string[]) {
    this.request = request;
    this.#script = script;
    this.#problems = problems;
    this.text = "";
    this.onBody(request.body);
    if (request.end) this.onBodyEnd();
  }

  get canWrite(): boolean {
    return !this.isOver && !this.mustConfirm && !this.isFull;
  }

  /** The next part of the response, or its end. */
  write(): void {
    const { responder } = this.request;
    const chunk = this.#script.chunks[this.written];
    if (this.written === 0) responder.head({ status: 200, headers: {} });
    this.written += 1;
    if (chunk === undefined) {
      this.isOver = true;
      responder.end();
    } else this.isFull = !responder.write(Buffer.from(chunk));
  }

  confirm(): void {
    this.isOver = true;
    this.mustConfirm = false;
    this.request.responder.end();
  }

  onBody(chunk: Buffer): boolean {
    this.text += chunk.toString("latin1");
    if (!this.#script.body.startsWith(this.text))
      this.#problems.push(`of the request arrives: ${this.text}`);
    return true;
  }

  onBodyEnd(): void {
    if (this.text !== this.#script.body)
      this.#problems.push(`the request is complete with: ${this.text}`);
  }

  onReset(): void {
    this.mustConfirm = true;
  }

  onDrain(): void {
    this.isFull = false;
  }
}
