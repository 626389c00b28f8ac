import {
  type ModelServerOptions,
  type ProviderCall,
  type ProviderFailureCode,
  type ProviderSink,
  scrubSecrets,
} from "@roomhub/provider";

/**
 * A program's own model in place of an endpoint.
 *
 * @param request - as a client of the model would send it, its URL below {@link FUNCTION_ENDPOINT}:
 *   `…/v1/chat/completions`. `request.signal` aborts when nobody wants the answer any more
 * @returns the answer; its body is read only as fast as the client takes it, and cancelled when the client leaves
 */
export type ServeFunction = (request: Request) => Response | Promise<Response>;

/** What is listed for a participant that is a function. Nobody can dial it: RFC 2606 keeps `.invalid` free of hosts. */
export const FUNCTION_ENDPOINT = "http://function.invalid/v1";

type CallProvider = ModelServerOptions["call"];
type CallRequest = Parameters<CallProvider>[0];

const maxUnreadBytes = 256 * 1024;
const maxMessageLength = 400;

/**
 * Calls a function as if it were an endpoint.
 *
 * @param onFault - gets whatever the function threw; the hub is told only a line of it
 */
export function callFunction(
  serve: ServeFunction,
  onFault: (error: unknown) => void,
): CallProvider {
  return (request, sink) => new FunctionCall(serve, request, sink, onFault);
}

/** One request of a function. Like a socket, it is closed once nothing of it runs any more. */
class FunctionCall implements ProviderCall {
  readonly #sink: ProviderSink;
  readonly #onFault: (error: unknown) => void;
  readonly #abort = new AbortController();
  readonly #stream: ReadableStream<Uint8Array> | undefined;
  /** Held until the end: a request that is garbage takes its signal's link to ours with it. */
  #request: Request | undefined;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isBodyBehind = false;
  #wakeReader: (() => void) | undefined;
  /** nothing more is said but `onClosed` */
  #isSettled = false;

  constructor(
    serve: ServeFunction,
    asked: CallRequest,
    sink: ProviderSink,
    onFault: (error: unknown) => void,
  ) {
    this.#sink = sink;
    this.#onFault = onFault;
    // Not within the call, as a socket would not answer within it either.
    process.nextTick(() => void this.#run(serve, asked));
    this.#stream = asked.body === "streamed" ? this.#openBody() : undefined;
  }

  resume(): void {
    this.#wakeReader?.();
    this.#wakeReader = undefined;
  }

  cancel(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const reason = new DOMException("The client is gone.", "AbortError");
    this.#abort.abort(reason);
    this.#body?.error(reason);
    this.#body = undefined;
    this.resume();
  }

  /** Copied: the chunk is a view into a tunnel message. */
  writeBody(chunk: Buffer): boolean {
    if (this.#body === undefined) return true;
    this.#body.enqueue(new Uint8Array(chunk));
    this.#isBodyBehind = (this.#body.desiredSize ?? 0) <= 0;
    return !this.#isBodyBehind;
  }

  endBody(): void {
    this.#body?.close();
    this.#body = undefined;
  }

  async #run(serve: ServeFunction, asked: CallRequest): Promise<void> {
    try {
      if (!this.#isSettled) {
        this.#request = this.#requestOf(asked);
        await this.#relay(await serve(this.#request));
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#request = undefined;
    this.#body = undefined;
    this.#sink.onClosed();
  }

  #requestOf({ method, baseUrl, path, headers, body }: CallRequest): Request {
    const sent = body === "streamed" ? this.#stream : body && Buffer.concat(body);
    return new Request(baseUrl + path, {
      method,
      headers,
      signal: this.#abort.signal,
      ...(sent === undefined ? {} : { body: sent, duplex: "half" }),
    });
  }

  #openBody(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#body = controller;
        },
        pull: () => {
          if (!this.#isBodyBehind || this.#isSettled) return;
          this.#isBodyBehind = false;
          this.#sink.onBodyDrain?.();
        },
        cancel: () => {
          // The function wants no more of the question; what still comes is dropped.
          this.#body = undefined;
          if (this.#isBodyBehind && !this.#isSettled) this.#sink.onBodyDrain?.();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes }),
    );
  }

  async #relay(response: Response): Promise<void> {
    if (!isResponse(response)) throw new InvalidResponseError("serve() returned no Response");
    if (this.#isSettled) return response.body?.cancel();
    const headers = Object.fromEntries(response.headers);
    this.#sink.onHead({ status: response.status, headers });
    if (response.body !== null) await this.#pass(response.body.getReader());
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#sink.onEnd();
  }

  async #pass(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    let stopped: Promise<void> | undefined;
    // What a stream throws while it is cancelled is nobody's answer any more.
    const stop = (): void => {
      stopped ??= reader.cancel(this.#abort.signal.reason).catch(() => {});
    };
    // A read that waits for a model would not notice that the client left.
    this.#abort.signal.addEventListener("abort", stop);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this.#isSettled) return;
        if (!(value instanceof Uint8Array)) {
          throw new InvalidResponseError(
            "the body of serve()'s Response streams something other than Uint8Array; put a TextEncoderStream behind it",
          );
        }
        // Copied: whose stream it is may use the memory again.
        if (value.length > 0 && !this.#sink.onData(Buffer.from(value))) await this.#roomAgain();
      }
    } finally {
      this.#abort.signal.removeEventListener("abort", stop);
      // A cancel is confirmed only once the stream's owner has cleaned up.
      stop();
      await stopped;
    }
  }

  #roomAgain(): Promise<void> {
    if (this.#isSettled) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wakeReader = resolve;
    });
  }

  #fail(error: unknown): void {
    // What it throws because it was told to stop is no fault.
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#onFault(error);
    const code: ProviderFailureCode =
      error instanceof InvalidResponseError ? "provider_invalid_response" : "internal_error";
    this.#sink.onFailure({ code, message: lineOf(error) });
  }
}

/** By its shape: the `undici` package and some frameworks bring a class of their own. */
function isResponse(value: Response): boolean {
  const given = value as Partial<Response> | null | undefined;
  return typeof given?.status === "number" && given.status >= 200 && given.headers !== undefined;
}

/** `serve` gave back what cannot be passed on. */
class InvalidResponseError extends Error {
  override readonly name = "InvalidResponseError";
}

/** For the client: the first line, without a stack and without what looks like a key. */
function lineOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const line = text.split("\n", 1)[0]?.trim() ?? "";
  if (error instanceof InvalidResponseError) return `${line}.`;
  const message = scrubSecrets(line, []).slice(0, maxMessageLength);
  return message === "" ? "serve() threw." : `serve() threw: ${message}`;
}
