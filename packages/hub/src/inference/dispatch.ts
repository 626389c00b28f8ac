import { refusesStreamOptions } from "@roomhub/protocol";
import type { Participant } from "../domain/participant.ts";
import { beginTrial } from "../domain/readiness.ts";
import { asHubError, HubError } from "../errors.ts";
import { errorHeaders } from "./response/response-headers.ts";
import type { Attempt, AttemptOwner } from "./attempt.ts";
import { Attempts } from "./attempts.ts";
import type { ClientListener } from "./client-response.ts";
import { checkRequest } from "./response/deadline.ts";
import { Delivery } from "./response/delivery.ts";
import type { RunningRequest } from "./in-flight.ts";
import type { DispatchDeps, InferenceCall } from "./inference-call.ts";
import { QueuePlace, type QueuedRequest } from "./queue-place.ts";
import { causeOf, type FailureCause } from "./retry.ts";
import { Routing } from "./routing.ts";
import { requestPayload, servedBy, type RequestFacts } from "./request-facts.ts";
import { refuseLoops, withoutSecrets } from "./routing-errors.ts";
import { announceEnd } from "./settlement.ts";
import type { ResponseHead, Upstream, UpstreamFailure } from "./upstream.ts";

/** Where a request is between its start and its one end. */
type State =
  | { kind: "routing" }
  | { kind: "queued"; place: QueuePlace }
  | { kind: "attempting" }
  | { kind: "settled" };

const routing: State = { kind: "routing" };
const settled: State = { kind: "settled" };

/**
 * One request from routing to its end: select → queue → open → observe → settle. Everything that can end it (the last
 * frame, a lost tunnel, a deadline, the client, a drain, a bug) comes to {@link Dispatch.#settle}, which acts once.
 */
export class Dispatch implements ClientListener, QueuedRequest, RunningRequest, AttemptOwner {
  readonly #deps: DispatchDeps;
  readonly #call: InferenceCall;
  readonly #routing: Routing;
  readonly #delivery: Delivery;
  readonly #attempts: Attempts;
  #state: State = routing;
  #queueMs = 0;
  #mayRemember: boolean;
  /** In {@link InFlight}. */
  place = -1;

  constructor(deps: DispatchDeps, call: InferenceCall) {
    this.#deps = deps;
    this.#call = call;
    this.#routing = new Routing(call.room, call.request, deps);
    this.#attempts = new Attempts(deps, call, this.#routing);
    this.#mayRemember = call.request.makesResponse;
    this.#delivery = new Delivery(deps, call);
  }

  get clientKey(): string {
    return this.#call.clientKey;
  }

  get #isSettled(): boolean {
    return this.#state.kind === "settled";
  }

  get selectionKey(): string {
    return this.#routing.selectionKey(this.#call.requestId);
  }

  /** Never throws; every failure reaches the client. */
  start(): void {
    this.#deps.inFlight.add(this);
    this.#guard(() => {
      refuseLoops(this.#call.hops, this.#deps.bootId);
      const { request, room } = this.#call;
      this.#routing.only = request.pinnedTo((id) => this.#deps.responseOwners.ownerOf(room, id));
      this.#route(false);
    });
  }

  // — routing and waiting —

  #route(isRetry: boolean): void {
    const selection = this.#routing.select();
    if (selection.kind === "selected") this.#open(selection.participant);
    else if (selection.kind === "busy") {
      const queue = this.#deps.queues.of(this.#call.room.code);
      const place = new QueuePlace(this, queue, selection.candidates, this.#deps.nowMs());
      place.wait(selection.hold);
      queue.add(place, isRetry);
      this.#state = { kind: "queued", place };
    } else throw this.#routing.refusal(selection);
  }

  tryToLeave(): boolean {
    const selection = this.#routing.select();
    if (selection.kind === "busy") {
      if (this.#state.kind === "queued") this.#state.place.wait(selection.hold);
      return false;
    }
    this.#leaveQueue();
    this.#guard(() => {
      if (selection.kind === "selected") this.#open(selection.participant);
      else throw this.#routing.refusal(selection);
    });
    return true;
  }

  #leaveQueue(): void {
    if (this.#state.kind !== "queued") return;
    this.#queueMs += this.#state.place.leave(this.#deps.nowMs());
    this.#state = routing;
  }

  // — one attempt —

  #open(participant: Participant): void {
    const upstream = this.#attempts.upstreamFor(participant);
    const { room, request } = this.#call;
    this.#attempts.next();
    beginTrial(participant, this.#deps.nowMs);
    this.#deps.emit.llmRequest(room.code, requestPayload(this.#facts(), participant));
    this.#send(participant, upstream, request.mayRequestUsageOf(participant));
  }

  #send(participant: Participant, upstream: Upstream, requestsUsage: boolean): void {
    const attempt = this.#attempts.create(participant, this, requestsUsage);
    this.#routing.noteChosen(participant);
    this.#state = { kind: "attempting" };
    this.#delivery.begin(servedBy(this.#facts(), participant), requestsUsage, attempt.scrubber);
    this.#attempts.open(attempt, upstream);
  }

  attemptHead(attempt: Attempt, head: ResponseHead): void {
    if (this.#isStale(attempt)) return;
    try {
      // A stream that has begun is not requested again, and may last long.
      if (this.#delivery.head(head) === "stream") this.#forgetBody();
      if (head.status < 300) attempt.credentials.haveWorked = true;
    } catch (thrown) {
      this.#attemptFailed(attempt, thrown, "other");
    }
  }

  attemptData(attempt: Attempt, chunk: Buffer): boolean {
    if (this.#isStale(attempt)) return true;
    try {
      const hasRoom = this.#delivery.data(chunk);
      if (this.#mayRemember) this.#rememberResponse(attempt.participant);
      return hasRoom;
    } catch (thrown) {
      this.#attemptFailed(attempt, thrown, "other");
      return true;
    }
  }

  attemptEnd(attempt: Attempt): void {
    if (this.#isStale(attempt)) return;
    try {
      const end = this.#delivery.end(() => this.#handedOver());
      if (this.#delivery.hasHiddenTimings) attempt.participant.reportsUsageItself = true;
      if (this.#mayRemember) this.#rememberResponse(attempt.participant);
      if (end.kind === "provider-error") this.#settle(withoutSecrets(end.error, attempt.scrubber));
      if (end.kind === "refused") this.#refused(attempt, end.status, end.body);
    } catch (thrown) {
      this.#attemptFailed(attempt, thrown, "other");
    }
  }

  attemptLost(attempt: Attempt, failure: UpstreamFailure): void {
    if (this.#isStale(attempt)) return;
    try {
      const hint = `See what is wrong: roomhub doctor ${this.#call.room.code}`;
      this.#delivery.lost(new HubError(failure.code, failure.message, { hint }), () =>
        this.#handedOver(),
      );
    } catch (thrown) {
      this.#attemptFailed(attempt, thrown, causeOf(failure.code));
    }
  }

  /** So that a request which continues this response goes to the same participant, even before it is complete. */
  #rememberResponse(owner: Participant): void {
    const { responseId } = this.#delivery;
    if (responseId === undefined) return;
    this.#mayRemember = false;
    this.#deps.responseOwners.remember(this.#call.room, responseId, owner);
  }

  #isStale(attempt: Attempt): boolean {
    return this.#isSettled || attempt !== this.#attempts.current;
  }

  /** The provider responded with an error status. */
  #refused(attempt: Attempt, status: number, body: Buffer): void {
    const raw = body.toString("utf8");
    const text = attempt.scrubber?.(raw) ?? raw;
    if (attempt.requestsUsage && refusesStreamOptions(status, text)) {
      this.#sendWithoutUsage(attempt);
      return;
    }
    try {
      const { error, providerCode } = this.#delivery.refuse(status, text);
      this.#settle(error, providerCode);
    } catch (thrown) {
      this.#attemptFailed(attempt, thrown, status);
    }
  }

  /** Our own addition was refused, not the client's request: the same again without it, and never more here. */
  #sendWithoutUsage({ participant }: Attempt): void {
    participant.refusesStreamUsage = true;
    this.#guard(() => this.#send(participant, this.#attempts.upstreamFor(participant), false));
  }

  /** Tries again while nothing was promised to the client and another attempt may do better. Contract §3. */
  #attemptFailed(attempt: Attempt, thrown: unknown, cause: FailureCause): void {
    const error = withoutSecrets(this.#asHubError(thrown), attempt.scrubber);
    const { isHeadWritten } = this.#call.client;
    if (isHeadWritten || !this.#routing.mayTryAgain(attempt, cause, this.#attempts.count)) {
      this.#fail(error);
      return;
    }
    const { participant } = attempt;
    attempt.cancel(error.message);
    this.#attempts.leave();
    this.#state = routing;
    this.#routing.noteFailure({ participant, error, hints: this.#delivery.refusalHints() });
    this.#delivery.leave();
    this.#guard(() => this.#route(true));
  }

  // — the client's side —

  onDrain(): void {
    if (this.#isSettled) return;
    this.#delivery.drained();
    this.#attempts.current?.resume();
  }

  onGone(): void {
    if (this.#isSettled) return;
    const gone = "The client disconnected before the response was complete.";
    const isComplete = this.#delivery.wasTaken();
    this.#settle(isComplete ? undefined : new HubError("client_disconnected", gone));
  }

  /** The last byte of a complete response is with the client's socket. */
  #handedOver(): void {
    this.#settle(undefined);
  }

  // — deadlines and cuts —

  tick(nowMs: number): void {
    this.#guard(() => {
      const queuedMs = this.#state.kind === "queued" ? this.#state.place.sinceMs : undefined;
      checkRequest(this.#deps.limits, nowMs, this.#call.startedMs, queuedMs);
      if (
        this.#state.kind === "queued" &&
        this.#state.place.isHoldOver(nowMs) &&
        this.tryToLeave()
      ) {
        return;
      }
      if (this.#delivery.isLeftOpen(nowMs) && this.#endIfOver()) return;
      this.#delivery.tick(nowMs);
    });
  }

  cut(error: HubError): void {
    if (this.#isSettled) return;
    // The event streams end next: what is whole is complete now.
    if (this.#endIfOver()) this.#settle(undefined);
    else this.#fail(error);
  }

  // — the end —

  #guard(action: () => void): void {
    if (this.#isSettled) return;
    try {
      action();
    } catch (thrown) {
      this.#fail(this.#asHubError(thrown));
    }
  }

  #asHubError(thrown: unknown): HubError {
    if (!(thrown instanceof HubError)) this.#deps.reportBug(thrown);
    return asHubError(thrown);
  }

  /** A response that reported its own end is complete, whatever happens to its path. */
  #endIfOver(): boolean {
    if (!this.#delivery.endIfOver(() => this.#handedOver())) return false;
    this.#attempts.current?.cancel("complete");
    return true;
  }

  #fail(error: HubError): void {
    if (this.#isSettled) return;
    // A client that stopped reading would not read the end either.
    if (error.code !== "client_stalled" && this.#endIfOver()) return;
    this.#leaveQueue();
    const { client } = this.#call;
    if (client.isHeadWritten) this.#delivery.breakOff(error);
    else
      client.refuse(
        error,
        errorHeaders(
          error,
          this.#facts(),
          this.#routing.hintsOf(error) ?? this.#delivery.refusalHints(),
        ),
      );
    this.#settle(error);
  }

  get #lastParticipant(): Participant | undefined {
    return this.#attempts.current?.participant ?? this.#routing.firstFailure?.participant;
  }

  /** Exactly one terminal event per request. @param error - undefined when the response was complete */
  #settle(error: HubError | undefined, providerCode?: string): void {
    if (this.#isSettled) return;
    this.#leaveQueue();
    this.#state = settled;
    this.#deps.inFlight.remove(this);
    const attempt = this.#attempts.current;
    attempt?.cancel(error?.message ?? "complete");
    const { firstContentMs } = this.#delivery;
    if (error === undefined && firstContentMs !== undefined)
      attempt?.measure(this.#routing.form, firstContentMs);
    this.#forgetBody();
    this.#call.onSettled();
    announceEnd(this.#deps, this.#call, this.#facts(), this.#delivery, error, providerCode);
  }

  #forgetBody(): void {
    this.#call.request.forget(this.#attempts.isBodyTaken);
  }

  #facts(): RequestFacts {
    return {
      requestId: this.#call.requestId,
      participant: this.#lastParticipant,
      protocol: this.#call.request.protocol,
      selector: this.#call.request.selector,
      attempts: this.#attempts.count,
      queueMs: this.#queueMs,
    };
  }
}
