import { giveBack, SURFACES, type TimeSource, tokensPerSecond } from "@roomhub/protocol";
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
import type { Budget } from "./budget/budget.ts";
import { type BudgetRefusal, refusalBody, refusalHeaders } from "./budget/budget-refusal.ts";
import { TokenMeter } from "./budget/token-meter.ts";
import { type ResponseMeter, meterFor } from "./response-meter.ts";
import type {
  ResponseMetrics,
  ParticipantNotice,
  RequestOutcome,
  RunningRequest,
} from "./notice.ts";
import type { EndpointSeat } from "./endpoint-slots.ts";
import type { RequestHeads } from "./request-heads.ts";

/** Shared by all requests of one participant. */
export interface ServeDeps {
  server: ModelServer;
  /** of its model server */
  seat: EndpointSeat;
  /** The hub puts a request back that is refused since all slots are taken. */
  takesBack: () => boolean;
  /** may change while requests run */
  readonly model: string;
  heads: RequestHeads;
  /** Values that no response may contain. */
  secrets: ResponseSecrets;
  world: TimeSource;
  /** Whether notices have metrics; a function is called before each notice. */
  isMetered: boolean | (() => boolean);
  /** Whether the tokens of running streams are counted. */
  countsTokens: boolean;
  /** Requests add themselves, and remove themselves once they have ended. */
  running: Set<{ view: () => RunningRequest }>;
  /** undefined when nothing is limited */
  budget: Budget | undefined;
  /** names of the keys that it serves, in lower case; undefined for all */
  only: ReadonlySet<string> | undefined;
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

/** Whether a response may repeat a secret: in sound or a picture, the same bytes mean nothing. */
function isText({ "content-type": type = "" }: ResponseHead["headers"]): boolean {
  return !/^(?:audio|video|image)\/|^application\/(?:octet-stream|ogg)\b/i.test(type);
}

/**
 * Serves one request of the hub from the provider, or refuses it without opening a socket.
 *
 * @param epoch - of the room's home that sends it
 */
export function serveRequest(
  request: IncomingRequest,
  deps: ServeDeps,
  epoch?: number,
): RequestBodyHandler {
  const { method, path } = request.head;
  if (!deps.heads.isAllowed(request.head)) {
    const reason = `this participant does not serve ${method} ${path.slice(0, 100)}`;
    request.responder.reset(RESET_CODES.refused, reason);
    return refused(request, deps, { status: undefined, code: "refused", reason });
  }
  if (deps.seat.isFull(epoch) && deps.takesBack()) {
    sendBusy(request);
    const reason = "requests of other rooms, or homes, take all slots of the model server";
    return refused(request, deps, { status: 429, code: "busy", reason });
  }
  if (method === "POST" && !isServed(request, deps)) {
    const message = "This participant serves the holders of other keys alone.";
    sendRefusal(request, { message, retryAfterSeconds: 60, tokens: undefined }, "person");
    return refused(request, deps, { status: 429, code: "refused", reason: message });
  }
  // Lists and stored responses cost nothing.
  if (deps.budget === undefined || method !== "POST") {
    return new ServedRequest(request, deps, epoch, undefined);
  }
  const refusal = deps.budget.admit(isOfBatch(request));
  if (refusal === undefined) return new ServedRequest(request, deps, epoch, new TokenMeter(path));
  sendRefusal(request, refusal, refusal.isForBatches ? "batch" : "budget");
  return refused(request, deps, { status: 429, code: "budget", reason: refusal.message });
}

/** The hub puts the request back in its queue: no client sees this response. */
function sendBusy({ responder }: IncomingRequest): void {
  const message = "All slots of the model server are taken.";
  const error = { message, type: "rate_limit_error", param: "", code: "busy" };
  const headers = { "content-type": "application/json", "retry-after": "1" };
  responder.head({ status: 429, headers, refusal: "busy" });
  responder.write(Buffer.from(JSON.stringify({ error })));
  responder.end();
}

function isOfBatch({ head }: IncomingRequest): boolean {
  return head.priority === "batch";
}

/** A hub does not send it requests of others: this is for one that does. */
function isServed({ head }: IncomingRequest, { heads, only }: ServeDeps): boolean {
  return only === undefined || only.has(heads.clientOf(head)?.id.toLowerCase() ?? "");
}

function sendRefusal(
  { head, responder }: IncomingRequest,
  refusal: BudgetRefusal,
  kind: "budget" | "batch" | "person",
): void {
  const surface = SURFACES.find(({ path }) => head.path === `/${path}`);
  responder.head({ status: 429, headers: refusalHeaders(refusal), refusal: kind });
  responder.write(refusalBody(refusal, surface?.errorShape ?? "openai"));
  responder.end();
}

function refused(
  { head }: IncomingRequest,
  { heads, model, notify }: ServeDeps,
  why: { status: number | undefined; code: string; reason: string },
): RequestBodyHandler {
  notify({
    kind: "request-ended",
    path: head.path.slice(0, 100),
    model,
    client: heads.clientOf(head),
    durationMs: 0,
    outcome: "refused",
    ...why,
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
  /** Called before the hub learns that the request has ended: the next one may follow at once. */
  readonly #leaveSlot: () => void;
  #call: ProviderCall | undefined;
  /** copies, given back at the end */
  #collected: Buffer[] = [];
  #collectedBytes = 0;
  /** undefined when there is nothing to scrub */
  #scrubber: ResponseScrubber | undefined;
  #meter: ResponseMeter | undefined;
  /** undefined without a budget, and once its tokens are in the ledger */
  #tokens: TokenMeter | undefined;
  #isWhole = false;
  #status: number | undefined;
  #outcome: RequestOutcome = "complete";
  #code: string | undefined;
  #reason: string | undefined;

  /** @param tokens - for the budget; undefined when the request counts for none */
  constructor(
    request: IncomingRequest,
    deps: ServeDeps,
    epoch: number | undefined,
    tokens: TokenMeter | undefined,
  ) {
    this.#request = request;
    this.#deps = deps;
    this.#tokens = tokens;
    this.#startedMs = deps.world.monotonicMs();
    this.#leaveSlot = deps.seat.begin(epoch);
    const { path } = request.head;
    const client = deps.heads.clientOf(request.head);
    deps.running.add(this);
    deps.notify({ kind: "request-started", path, model: deps.model, client });
    this.#tokens?.seeRequest(request.body.length);
    this.#collect(request.body);
    if (request.end) this.#callWithCollected();
  }

  view(): RunningRequest {
    const { path } = this.#request.head;
    const { model, heads, world } = this.#deps;
    const client = heads.clientOf(this.#request.head);
    const outputTokens = this.#meter?.contentEvents || undefined;
    return { path, model, client, runsMs: world.monotonicMs() - this.#startedMs, outputTokens };
  }

  onBody(chunk: Buffer): boolean {
    this.#tokens?.seeRequest(chunk.length);
    if (this.#call !== undefined) return writeOwn(this.#call, Buffer.from(chunk));
    this.#collect(chunk);
    if (this.#collectedBytes <= maxCollectedBytes) return true;
    const call = this.#callProvider("streamed");
    let hasRoom = true;
    for (const part of this.#collected) hasRoom = writeOwn(call, part);
    // A streamed body is sent once: its beginning is not kept for another call.
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
    this.#spend(false);
    if (this.#call === undefined) this.onClosed();
    else this.#call.cancel();
  }

  onHead(head: ResponseHead): void {
    const { status, headers } = head;
    this.#status = status;
    const isCounted = this.#deps.countsTokens || this.#tokens !== undefined;
    const isMetered = this.#deps.isMetered !== false || isCounted;
    if (isMetered) this.#meter = meterFor(this.#request.head, head, isCounted);
    this.#tokens?.begin(this.#meter, head);
    if (status >= 400) this.#outcome = "failed";
    const passing = this.#deps.heads.toHub(headers);
    const { inErrors, inResponses } = this.#deps.secrets;
    const secrets = status >= 400 ? inErrors : isText(headers) ? inResponses : undefined;
    if (secrets === undefined) return this.#request.responder.head({ status, headers: passing });
    this.#scrubber = new ResponseScrubber(secrets);
    this.#request.responder.head({ status, headers: scrubHeaders(passing, secrets) });
  }

  onData(chunk: Buffer): boolean {
    this.#meter?.see(chunk, this.#deps.world);
    this.#tokens?.seeResponse(chunk);
    return this.#request.responder.write(this.#scrubber?.push(chunk) ?? chunk);
  }

  onEnd(): void {
    const { responder } = this.#request;
    this.#leaveSlot();
    // Before the last byte leaves: the next request is admitted by what this one cost.
    this.#spend(true);
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
    const { model, world, heads } = this.#deps;
    this.#leaveSlot();
    this.#collected.forEach(giveBack);
    this.#collected = [];
    // After a cancel, this confirms that the provider's socket is closed.
    if (this.#outcome === "cancelled") responder.end();
    const durationMs = world.monotonicMs() - this.#startedMs;
    this.#deps.running.delete(this);
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
    const isWanted = typeof isMetered === "function" ? isMetered() : isMetered;
    if (meter === undefined || !isWanted) return {};
    const { contentMs } = meter;
    const usage = this.#isWhole ? meter.usage() : {};
    const speed = tokensPerSecond(usage, durationMs);
    return {
      ...(contentMs === undefined ? {} : { ttftMs: contentMs - this.#startedMs }),
      ...usage,
      ...(speed === undefined ? {} : { tokensPerSecond: speed }),
    };
  }

  /**
   * Enters the tokens in the ledger, once. An error response costs nothing, nor does a request that the provider did not
   * get; one that was cancelled, or had no response in time, may have been worked on.
   */
  #spend(isWhole: boolean): void {
    const tokens = this.#tokens;
    this.#tokens = undefined;
    if (tokens === undefined || this.#call === undefined) return;
    const mayHaveRun = this.#outcome === "cancelled" || this.#code === "provider_timeout";
    const isCharged = this.#status === undefined ? mayHaveRun : this.#status < 300;
    if (isCharged) this.#deps.budget?.spend(tokens.tokens(isWhole), isOfBatch(this.#request));
  }

  #collect(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#collected.push(Buffer.from(chunk));
    this.#collectedBytes += chunk.length;
  }

  #callWithCollected(): void {
    const hasBody = this.#request.head.method === "POST" || this.#collectedBytes > 0;
    this.#callProvider(hasBody ? this.#collected : undefined);
  }

  #callProvider(body: readonly Buffer[] | "streamed" | undefined): ProviderCall {
    const { head } = this.#request;
    const { server, heads } = this.#deps;
    const { method, path, bodyBytes } = head;
    const client = `${head.address ?? ""} ${heads.clientOf(head)?.id ?? ""}`;
    const headers = heads.toProvider(head.headers);
    const call = server.call({ method, path, headers, body, bodyBytes, client }, this);
    this.#call = call;
    return call;
  }

  #fail(code: ProviderFailureCode, message: string): void {
    this.#settle("failed", code, message);
    this.#spend(false);
    this.#leaveSlot();
    this.#request.responder.reset(resetCodes[code], message);
  }

  #settle(outcome: RequestOutcome, code: string, reason: string): void {
    if (this.#reason !== undefined) return;
    this.#outcome = outcome;
    this.#code = code;
    this.#reason = reason;
  }
}

/** @param own - memory that nothing else reads */
function writeOwn(call: ProviderCall, own: Buffer): boolean {
  const hasRoom = call.writeBody(own);
  if (call.isBodyTaken === true) giveBack(own);
  return hasRoom;
}
