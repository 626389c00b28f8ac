import { PacedSink } from "../call/paced-sink.ts";
import type {
  ProviderCall,
  ProviderRequest,
  ProviderSink,
  ResponseHead,
} from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";
import { UntranslatableError } from "./placed-object.ts";
import type { RequestRefusal } from "./surface-translation.ts";

/**
 * A call whose body is collected before it is decided where it goes: the provider gets one request after another, or none
 * when the response is made here. The caller sees one response.
 */
export abstract class CollectedCall implements ProviderCall, ProviderSink {
  protected readonly request: ProviderRequest;
  /** to the client */
  protected readonly response: PacedSink;
  /** what is on its way to the provider now */
  protected current: ProviderCall | undefined;
  readonly #maxBodyBytes: number;
  #body: Buffer[] = [];
  #bytes = 0;
  #isCollecting = true;

  /** The subclass calls {@link start} once it is ready. */
  constructor(request: ProviderRequest, sink: ProviderSink, maxBodyBytes: number) {
    this.request = request;
    this.response = new PacedSink(sink);
    this.#maxBodyBytes = maxBodyBytes;
  }

  abstract onHead(head: ResponseHead): void;
  abstract onData(chunk: Buffer): boolean;
  abstract onEnd(): void;
  abstract onFailure(failure: ProviderFailure): void;
  abstract onClosed(): void;
  /** The body is complete. */
  protected abstract sendNext(): void;
  /** The body of a refusal, in the shape that the surface's clients read. */
  protected abstract refusalBody(refusal: RequestRefusal): object;

  protected start(): void {
    const { body } = this.request;
    if (body === "streamed") return;
    for (const chunk of body ?? []) this.#add(chunk);
    this.endBody();
  }

  protected get body(): Buffer[] {
    return this.#body;
  }

  /** Too long to be translated. */
  protected get isBodyTooLong(): boolean {
    return this.#bytes > this.#maxBodyBytes;
  }

  /** The body is no longer needed; its length still counts. */
  protected clearBody(): void {
    this.#body = [];
  }

  writeBody(chunk: Buffer): boolean {
    if (!this.#isCollecting) return true;
    this.#add(chunk);
    if (this.isBodyTooLong) this.refuseLength();
    return true;
  }

  endBody(): void {
    if (!this.#isCollecting) return;
    this.#isCollecting = false;
    this.sendNext();
  }

  resume(): void {
    if (this.response.resume()) this.current?.resume();
  }

  cancel(): void {
    if (this.response.isOver) return;
    this.response.discard();
    this.#isCollecting = false;
    this.clearBody();
    if (this.current === undefined) process.nextTick(() => this.response.release());
    else this.current.cancel();
  }

  /**
   * @param translate - of the whole body
   * @param refuse - called when the request has no counterpart in chat; default: the client gets the refusal
   * @returns undefined when there is no counterpart, or the request was refused here because it is too long
   */
  protected translated<Translated>(
    translate: (body: Buffer) => Translated,
    refuse = (refusal: RequestRefusal) => this.#refuse(refusal),
  ): Translated | undefined {
    if (this.isBodyTooLong) {
      this.refuseLength();
      return undefined;
    }
    try {
      const request = translate(Buffer.concat(this.#body));
      this.clearBody();
      return request;
    } catch (error) {
      if (!(error instanceof UntranslatableError)) throw error;
      const { message, param, code } = error;
      refuse({ status: 400, message, param, code });
      return undefined;
    }
  }

  protected refuseLength(): void {
    const mib = this.#maxBodyBytes / (1024 * 1024);
    this.#refuse({
      status: 413,
      message: `The request body is larger than ${mib} MiB, the most that can be translated for a provider of chat completions.`,
      param: "",
      code: "request_too_large",
    });
  }

  /** A response from here. Sent in a later turn, as every response is. */
  protected respond(status: number, body: object, headers: Record<string, string> = {}): void {
    this.#isCollecting = false;
    this.clearBody();
    process.nextTick(() => {
      this.response.head({ status, headers: { "content-type": "application/json", ...headers } });
      this.response.data(Buffer.from(JSON.stringify(body)));
      this.response.end();
      this.response.release();
    });
  }

  #refuse(refusal: RequestRefusal): void {
    this.respond(refusal.status, this.refusalBody(refusal));
  }

  #add(chunk: Buffer): void {
    this.#body.push(chunk);
    this.#bytes += chunk.length;
  }
}
