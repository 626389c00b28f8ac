import { urlBelow } from "@roomhub/protocol";
import {
  type ModelServerOptions,
  type ProviderCall,
  type ProviderFailureCode,
  type ProviderSink,
  scrubSecrets,
} from "@roomhub/provider";

/**
 * A function that serves a model in place of an endpoint.
 *
 * @param request - as a client would send it to an endpoint, with a URL below {@link FUNCTION_ENDPOINT}:
 *   `…/v1/chat/completions`. `request.signal` aborts when the response is no longer needed
 * @returns the response; its body is read at the client's pace and cancelled when the client disconnects
 */
export type ServeFunction = (request: Request) => Response | Promise<Response>;

/** The endpoint listed for a participant that is a function. Not reachable: RFC 2606 reserves `.invalid`. */
export const FUNCTION_ENDPOINT = "http://function.invalid/v1";

type CallProvider = ModelServerOptions["call"];
type CallRequest = Parameters<CallProvider>[0];

const maxUnreadBytes = 256 * 1024;
const maxMessageLength = 400;

/**
 * Calls a function as if it were an endpoint.
 *
 * @param onFault - gets the error that the function threw; the hub gets only its first line
 */
export function callFunction(
  serve: ServeFunction,
  onFault: (error: unknown) => void,
): CallProvider {
  return (request, sink) => new FunctionCall(serve, request, sink, onFault);
}

/** One call of a function. It is closed when the function, and its stream, have ended. */
class FunctionCall implements ProviderCall {
  readonly #sink: ProviderSink;
  readonly #onFault: (error: unknown) => void;
  readonly #abort = new AbortController();
  readonly #stream: ReadableStream<Uint8Array> | undefined;
  /** Held until the end: once a Request is garbage-collected, its signal no longer follows ours. */
  #request: Request | undefined;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isBodyBehind = false;
  #wakeReader: (() => void) | undefined;
  /** only `onClosed` follows */
  #isSettled = false;

  constructor(
    serve: ServeFunction,
    call: CallRequest,
    sink: ProviderSink,
    onFault: (error: unknown) => void,
  ) {
    this.#sink = sink;
    this.#onFault = onFault;
    // Asynchronously, as a socket would.
    process.nextTick(() => void this.#run(serve, call));
    this.#stream = call.body === "streamed" ? this.#openBody() : undefined;
  }

  resume(): void {
    this.#wakeReader?.();
    this.#wakeReader = undefined;
  }

  cancel(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const reason = new DOMException("The client disconnected.", "AbortError");
    this.#abort.abort(reason);
    this.#body?.error(reason);
    this.#body = undefined;
    this.resume();
  }

  /** Copied: the function may keep it. */
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

  async #run(serve: ServeFunction, call: CallRequest): Promise<void> {
    try {
      if (!this.#isSettled) {
        this.#request = this.#requestOf(call);
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
    return new Request(urlBelow(baseUrl, path), {
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
          // The function stopped reading the request body; the rest is dropped.
          this.#body = undefined;
          if (this.#isBodyBehind && !this.#isSettled) this.#sink.onBodyDrain?.();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes }),
    );
  }

  async #relay(response: Response): Promise<void> {
    if (!isResponse(response)) throw new InvalidResponseError("serve() did not return a Response");
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
    // An error while the stream is cancelled concerns no response.
    const stop = (): void => {
      stopped ??= reader.cancel(this.#abort.signal.reason).catch(() => {});
    };
    // A pending read would not notice that the client disconnected.
    this.#abort.signal.addEventListener("abort", stop);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this.#isSettled) return;
        if (!(value instanceof Uint8Array)) {
          throw new InvalidResponseError(
            "the body of serve()'s Response has chunks that are not Uint8Array; pipe it through a TextEncoderStream",
          );
        }
        // Copied: the owner of the stream may reuse the memory.
        if (value.length > 0 && !this.#sink.onData(Buffer.from(value))) await this.#untilResumed();
      }
    } finally {
      this.#abort.signal.removeEventListener("abort", stop);
      // A cancel is confirmed only after the stream's owner has cleaned up.
      stop();
      await stopped;
    }
  }

  #untilResumed(): Promise<void> {
    if (this.#isSettled) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wakeReader = resolve;
    });
  }

  #fail(error: unknown): void {
    // An error after a cancel is expected.
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#onFault(error);
    const code: ProviderFailureCode =
      error instanceof InvalidResponseError ? "provider_invalid_response" : "internal_error";
    this.#sink.onFailure({ code, message: messageForClient(error) });
  }
}

/** By its shape: the `undici` package and some frameworks have their own class. */
function isResponse(value: Response): boolean {
  const given = value as Partial<Response> | null | undefined;
  return typeof given?.status === "number" && given.status >= 200 && given.headers !== undefined;
}

/** `serve` returned something that cannot be relayed. */
class InvalidResponseError extends Error {
  override readonly name = "InvalidResponseError";
}

/** For the client: the first line, without a stack and without anything like a key. */
function messageForClient(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const line = text.split("\n", 1)[0]?.trim() ?? "";
  if (error instanceof InvalidResponseError) return `${line}.`;
  const message = scrubSecrets(line, []).slice(0, maxMessageLength);
  return message === "" ? "serve() threw." : `serve() threw: ${message}`;
}
