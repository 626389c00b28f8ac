import { PassingSink } from "../passing-sink.ts";
import type { TimeSource } from "@roomhub/protocol";
import type { ProviderFailure } from "../call/failure.ts";
import type { ProviderSink, ResponseHead } from "../call/provider-call.ts";
import type { ServerReadiness } from "./server-readiness.ts";

/** In a 503 of llama.cpp, Ollama or TGI that loads a model. */
const saysLoading = /\bloading (?:the )?model\b|\bmodel\b.{0,100}\bloading\b/is;
const maxReadBytes = 64 * 1024;

/** A 503, held back until its body shows what it means. */
interface Unread {
  head: ResponseHead;
  chunks: Buffer[];
  bytes: number;
}

/** Reports a response to the verdict on the server before it is passed on. */
export class ReadinessSink extends PassingSink {
  readonly #readiness: ServerReadiness;
  readonly #time: TimeSource;
  readonly #credentials: number;
  readonly #client: string;
  readonly #onOver: (isCancelled: boolean) => void;
  #unread: Unread | undefined;
  #isOver = false;

  /**
   * @param client - whose request it is
   * @param onOver - it is closed; cancelled when there was neither an end nor a failure
   */
  constructor(
    sink: ProviderSink,
    readiness: ServerReadiness,
    time: TimeSource,
    client: string,
    onOver: (isCancelled: boolean) => void,
  ) {
    super(sink);
    this.#readiness = readiness;
    this.#time = time;
    this.#client = client;
    this.#onOver = onOver;
    this.#credentials = readiness.credentials;
    readiness.callStarted();
  }

  /** The verdict first: an agent's hub must know that the server loads when it gets the 503. */
  override onHead(head: ResponseHead): void {
    if (head.status === 503) {
      this.#unread = { head, chunks: [], bytes: 0 };
      return;
    }
    this.#readiness.callResponded(
      head.status,
      this.#time.monotonicMs(),
      this.#credentials,
      this.#client,
    );
    this.sink.onHead(head);
  }

  override onData(chunk: Buffer): boolean {
    if (this.#unread !== undefined) return this.#read(this.#unread, chunk);
    this.#readiness.callFlows();
    return this.sink.onData(chunk);
  }

  #read(unread: Unread, chunk: Buffer): boolean {
    unread.chunks.push(Buffer.from(chunk));
    unread.bytes += chunk.length;
    return unread.bytes < maxReadBytes || this.#passUnread();
  }

  /** @returns false when the reader is behind */
  #passUnread(): boolean {
    if (this.#unread === undefined) return true;
    const { head, chunks } = this.#unread;
    this.#unread = undefined;
    const body = Buffer.concat(chunks);
    const nowMs = this.#time.monotonicMs();
    if (saysLoading.test(body.toString("utf8", 0, maxReadBytes))) this.#readiness.callLoads(nowMs);
    else this.#readiness.callResponded(head.status, nowMs, this.#credentials, this.#client);
    this.sink.onHead(head);
    return body.length === 0 || this.sink.onData(body);
  }

  override onEnd(): void {
    this.#isOver = true;
    this.#passUnread();
    this.sink.onEnd();
  }

  override onFailure(failure: ProviderFailure): void {
    this.#isOver = true;
    this.#passUnread();
    this.#readiness.callFailed(failure.code, this.#time.monotonicMs());
    this.sink.onFailure(failure);
  }

  override onClosed(): void {
    this.#readiness.callEnded(this.#time.monotonicMs());
    this.#onOver(!this.#isOver);
    this.sink.onClosed();
  }
}
