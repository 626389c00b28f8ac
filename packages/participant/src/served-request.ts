import { tokensPerSecond } from "@roomhub/protocol";
import {
  ResponseScrubber,
  type ResponseSecrets,
  type ModelServer,
  type ProviderCall,
  type ProviderFailure,
  type ProviderFailureCode,
  type ProviderSink,
  type ResponseHead,
  scrubHeaders,
} from "@roomhub/provider";
import {
  type IncomingRequest,
  RESET_CODES,
  type RequestBodyHandler,
  type ResetCode,
  resetCodeName,
} from "@roomhub/tunnel";
import { type ResponseMeter, meterFor } from "./response-meter.ts";
import type { ResponseMetrics, ParticipantNotice, RequestOutcome } from "./notice.ts";
import type { RequestHeads } from "./request-heads.ts";

/** Shared by all requests of one participant. */
export interface ServeDeps {
  server: ModelServer;
  /** may change while requests run */
  readonly model: string;
  heads: RequestHeads;
  /** Values that no response may contain. */
  secrets: ResponseSecrets;
  /** ms, monotonic */
  now: () => number;
  /** Whether notices have metrics; a function is called before each notice. */
  isMetered: boolean | (() => boolean);
  notify: (notice: ParticipantNotice) => void;
}

/** A body up to this size is collected first: it gets a content-length and a kept-alive socket, and can be resent. */
const maxCollectedBytes = 256 * 1024;

const resetCodes: Record<ProviderFailureCode, ResetCode> = {
  provider_unreachable: RESET_CODES.providerUnreachable,
  provider_disconnected: RESET_CODES.providerDisconnected,
  provider_timeout: RESET_CODES.providerTimeout,
  provider_invalid_response: RESET_CODES.providerInvalidResponse,
  response_too_large: RESET_CODES.responseTooLarge,
  internal_error: RESET_CODES.internal,
};

const refusedRequest: RequestBodyHandler = {
  onBody: () => true,
  onBodyEnd() {},
  onReset() {},
  onDrain() {},
};

/** Serves one request of the hub from the provider, or refuses it without opening a socket. */
export function serveRequest(request: IncomingRequest, deps: ServeDeps): RequestBodyHandler {
  const { method, path } = request.head;
  if (deps.heads.isAllowed(request.head)) return new ServedRequest(request, deps);
  const reason = `this participant does not serve ${method} ${path.slice(0, 100)}`;
  request.responder.reset(RESET_CODES.refused, reason);
  deps.notify({
    kind: "request-ended",
    path: path.slice(0, 100),
    model: deps.model,
    client: deps.heads.clientOf(request.head),
    status: undefined,
    durationMs: 0,
    outcome: "refused",
    code: "refused",
    reason,
  });
  return refusedRequest;
}

/**
 * One request in flight between the tunnel's stream and the provider's socket. Backpressure of either side pauses the
 * other; a RESET is confirmed once the provider's socket is closed.
 */
class ServedRequest implements RequestBodyHandler, ProviderSink {
  readonly #request: IncomingRequest;
  readonly #deps: ServeDeps;
  readonly #startedMs: number;
  #call: ProviderCall | undefined;
  #collected: Buffer[] = [];
  #collectedBytes = 0;
  /** undefined when there is nothing to scrub */
  #scrubber: ResponseScrubber | undefined;
  #meter: ResponseMeter | undefined;
  #isWhole = false;
  #status: number | undefined;
  #outcome: RequestOutcome = "complete";
  #code: string | undefined;
  #reason: string | undefined;

  constructor(request: IncomingRequest, deps: ServeDeps) {
    this.#request = request;
    this.#deps = deps;
    this.#startedMs = deps.now();
    const { path } = request.head;
    const client = deps.heads.clientOf(request.head);
    deps.notify({ kind: "request-started", path, model: deps.model, client });
    this.#collect(request.body);
    if (request.end) this.#callWithCollected();
  }

  onBody(chunk: Buffer): boolean {
    if (this.#call !== undefined) return this.#call.writeBody(chunk);
    this.#collect(chunk);
    if (this.#collectedBytes <= maxCollectedBytes) return true;
    const call = this.#callProvider("streamed");
    const hasRoom = call.writeBody(Buffer.concat(this.#collected));
    this.#collected = [];
    return hasRoom;
  }

  onBodyEnd(): void {
    if (this.#call === undefined) this.#callWithCollected();
    else this.#call.endBody();
  }

  onBodyDrain(): void {
    this.#request.responder.resumeBody();
  }

  onDrain(): void {
    this.#call?.resume();
  }

  onReset(code: ResetCode, reason: string): void {
    const name = resetCodeName(code);
    this.#settle("cancelled", name, reason === "" ? name : reason);
    this.#collected = [];
    if (this.#call === undefined) this.onClosed();
    else this.#call.cancel();
  }

  onHead(head: ResponseHead): void {
    const { status, headers } = head;
    this.#status = status;
    if (this.#deps.isMetered !== false) this.#meter = meterFor(this.#request.head, head);
    if (status >= 400) this.#outcome = "failed";
    const passing = this.#deps.heads.toHub(headers);
    const { inErrors, inResponses } = this.#deps.secrets;
    const secrets = status >= 400 ? inErrors : inResponses;
    if (secrets === undefined) return this.#request.responder.head({ status, headers: passing });
    this.#scrubber = new ResponseScrubber(secrets);
    this.#request.responder.head({ status, headers: scrubHeaders(passing, secrets) });
  }

  onData(chunk: Buffer): boolean {
    this.#meter?.see(chunk, this.#deps.now);
    return this.#request.responder.write(this.#scrubber?.push(chunk) ?? chunk);
  }

  onEnd(): void {
    const { responder } = this.#request;
    if (this.#scrubber !== undefined) responder.write(this.#scrubber.end());
    responder.end();
    this.#isWhole = true;
  }

  onFailure(failure: ProviderFailure): void {
    if (this.#scrubber !== undefined) this.#request.responder.write(this.#scrubber.breakOff());
    this.#fail(failure.code, failure.message);
  }

  onClosed(): void {
    const { head, responder } = this.#request;
    const { model, now, heads } = this.#deps;
    // After a cancel, this confirms that the provider's socket is closed.
    if (this.#outcome === "cancelled") responder.end();
    const durationMs = now() - this.#startedMs;
    this.#deps.notify({
      kind: "request-ended",
      path: head.path,
      model,
      client: heads.clientOf(head),
      status: this.#status,
      durationMs,
      outcome: this.#outcome,
      code: this.#code,
      reason: this.#reason,
      ...this.#metrics(durationMs),
    });
  }

  #metrics(durationMs: number): ResponseMetrics {
    const meter = this.#meter;
    const { isMetered } = this.#deps;
    if (meter === undefined || (typeof isMetered === "function" && !isMetered())) return {};
    const { contentMs } = meter;
    const usage = this.#isWhole ? meter.usage() : {};
    const speed = tokensPerSecond(usage, durationMs);
    return {
      ...(contentMs === undefined ? {} : { ttftMs: contentMs - this.#startedMs }),
      ...usage,
      ...(speed === undefined ? {} : { tokensPerSecond: speed }),
    };
  }

  /** Copied: the bytes are a view into a tunnel message of up to 1 MiB. */
  #collect(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#collected.push(Buffer.from(chunk));
    this.#collectedBytes += chunk.length;
  }

  #callWithCollected(): void {
    const hasBody = this.#request.head.method === "POST" || this.#collectedBytes > 0;
    this.#callProvider(hasBody ? this.#collected : undefined);
    this.#collected = [];
  }

  #callProvider(body: readonly Buffer[] | "streamed" | undefined): ProviderCall {
    const { method, path, headers } = this.#request.head;
    const { server, heads } = this.#deps;
    const call = server.call({ method, path, headers: heads.toProvider(headers), body }, this);
    this.#call = call;
    return call;
  }

  #fail(code: ProviderFailureCode, message: string): void {
    this.#settle("failed", code, message);
    this.#request.responder.reset(resetCodes[code], message);
  }

  #settle(outcome: RequestOutcome, code: string, reason: string): void {
    if (this.#reason !== undefined) return;
    this.#outcome = outcome;
    this.#code = code;
    this.#reason = reason;
  }
}
