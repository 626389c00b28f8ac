import { refusesStreamOptions } from "@roomhub/protocol";
import type { Participant } from "../domain/participant.ts";
import { beginTrial } from "../domain/readiness.ts";
import { asHubError, HubError } from "../errors.ts";
import { errorHeaders } from "./answer/answer.ts";
import { Attempt, type AttemptOwner } from "./attempt.ts";
import type { ClientListener } from "./client-response.ts";
import { checkRequest } from "./answer/deadline.ts";
import { Delivery } from "./answer/delivery.ts";
import type { RunningRequest } from "./in-flight.ts";
import type { DispatchDeps, InferenceCall } from "./inference-call.ts";
import { QueuePlace, type QueuedRequest } from "./queue-place.ts";
import { causeOf, type FailureCause } from "./retry.ts";
import { Routing } from "./routing.ts";
import { requestPayload, servedBy, type RequestFacts } from "./request-facts.ts";
import { pathIsGone, refuseLoops, withoutSecrets } from "./routing-errors.ts";
import { announceEnd } from "./settlement.ts";
import type { ResponseHead, Upstream, UpstreamFailure } from "./upstream.ts";

/** Where a request is between its start and its one end. */
type State =
  | { kind: "routing" }
  | { kind: "queued"; place: QueuePlace }
  | { kind: "attempting"; attempt: Attempt }
  | { kind: "settled"; attempt: Attempt | undefined };

const routing: State = { kind: "routing" };

/**
 * One request from routing to its end: select → queue → open → observe → settle. Everything that can end it (the last
 * frame, a lost tunnel, a deadline, the client, a drain, a bug) comes to {@link Dispatch.#settle}, which acts once.
 */
export class Dispatch implements ClientListener, QueuedRequest, RunningRequest, AttemptOwner {
  readonly #deps: DispatchDeps;
  readonly #call: InferenceCall;
  readonly #routing: Routing;
  readonly #delivery: Delivery;
  #state: State = routing;
  #attempts = 0;
  #queueMs = 0;
  /** Somebody who failed may still be reading the request's body. */
  #isBodyLent = false;
  #mayRemember: boolean;
  /** In {@link InFlight}. */
  place = -1;

  constructor(deps: DispatchDeps, call: InferenceCall) {
    this.#deps = deps;
    this.#call = call;
    this.#routing = new Routing(call.room, call.asking, deps);
    this.#mayRemember = call.asking.makesResponse;
    this.#delivery = new Delivery(deps, call);
  }

  get clientKey(): string {
    return this.#call.clientKey;
  }

  get #isSettled(): boolean {
    return this.#state.kind === "settled";
  }

  /** The one that runs, or was the last to run. */
  get #attempt(): Attempt | undefined {
    const state = this.#state;
    return state.kind === "attempting" || state.kind === "settled" ? state.attempt : undefined;
  }

  get selectionKey(): string {
    return this.#routing.selectionKey(this.#call.requestId);
  }

  /** Never throws; every failure is answered. */
  start(): void {
    this.#deps.inFlight.add(this);
    this.#guard(() => {
      refuseLoops(this.#call.hops, this.#deps.bootId);
      const { asking, room } = this.#call;
      this.#routing.only = asking.pinnedTo((id) => this.#deps.responseOwners.ownerOf(room, id));
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
      queue.add(place, isRetry);
      this.#state = { kind: "queued", place };
    } else throw this.#routing.refusal(selection);
  }

  tryToLeave(): boolean {
    const selection = this.#routing.select();
    if (selection.kind === "busy") return false;
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
    const upstream = this.#upstreamFor(participant);
    const { room, asking } = this.#call;
    this.#attempts++;
    beginTrial(participant, this.#deps.nowMs);
    this.#deps.emit.llmRequest(room.code, requestPayload(this.#facts(), participant));
    this.#ask(participant, upstream, asking.mayAskUsageOf(participant));
  }

  /** @throws HubError when its path is gone: the first failure, where there was one */
  #upstreamFor(participant: Participant): Upstream {
    const upstream = this.#deps.upstreamFor(participant);
    if (upstream !== undefined) return upstream;
    throw this.#routing.firstFailure?.error ?? pathIsGone(participant);
  }

  #ask(participant: Participant, upstream: Upstream, asksUsage: boolean): void {
    const { asking, hops } = this.#call;
    if (this.#attempt !== undefined) this.#leave(this.#attempt);
    const scrubber = this.#deps.scrubberOf(participant);
    const attempt = new Attempt(participant, this, this.#deps.queues, asksUsage, scrubber);
    this.#state = { kind: "attempting", attempt };
    this.#delivery.begin(servedBy(this.#facts(), participant), asksUsage, scrubber);
    const passed = [...hops, this.#deps.bootId];
    attempt.open(upstream, asking.requestFor(participant, passed, asksUsage));
  }

  attemptHead(attempt: Attempt, head: ResponseHead): void {
    if (this.#isStale(attempt)) return;
    try {
      // A stream that has begun is not asked for once more, and may last long.
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
      if (end.kind === "told") this.#settle(withoutSecrets(end.error, attempt.scrubber));
      if (end.kind === "refused") this.#tellRefusal(attempt, end.status, end.body);
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

  /** So that who goes on from this answer comes back to its maker, also while it is still being made. */
  #rememberResponse(maker: Participant): void {
    const { responseId } = this.#delivery;
    if (responseId === undefined) return;
    this.#mayRemember = false;
    this.#deps.responseOwners.remember(this.#call.room, responseId, maker);
  }

  #isStale(attempt: Attempt): boolean {
    return this.#isSettled || attempt !== this.#attempt;
  }

  #tellRefusal(attempt: Attempt, status: number, body: Buffer): void {
    const said = body.toString("utf8");
    const text = attempt.scrubber?.(said) ?? said;
    if (attempt.asksUsage && refusesStreamOptions(status, text)) {
      this.#askWithoutUsage(attempt);
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
  #askWithoutUsage({ participant }: Attempt): void {
    participant.refusesStreamUsage = true;
    this.#guard(() => this.#ask(participant, this.#upstreamFor(participant), false));
  }

  /** Tries again while nothing was promised to the client and another attempt may do better. Contract §3. */
  #attemptFailed(attempt: Attempt, thrown: unknown, cause: FailureCause): void {
    const error = withoutSecrets(this.#asHubError(thrown), attempt.scrubber);
    const { isHeadWritten } = this.#call.client;
    if (isHeadWritten || !this.#routing.mayTryAgain(attempt, cause, this.#attempts)) {
      this.#fail(error);
      return;
    }
    const { participant } = attempt;
    attempt.cancel(error.message);
    this.#leave(attempt);
    this.#routing.noteFailure({ participant, error, hints: this.#delivery.refusalHints() });
    this.#delivery.leave();
    this.#guard(() => this.#route(true));
  }

  #leave(attempt: Attempt): void {
    this.#isBodyLent ||= !attempt.isBodyTaken;
    this.#state = routing;
  }

  // — the client's side —

  onDrain(): void {
    if (this.#isSettled) return;
    this.#delivery.drained();
    this.#attempt?.resume();
  }

  onGone(): void {
    if (this.#isSettled) return;
    const gone = "The client disconnected before the response was complete.";
    const isComplete = this.#delivery.wasTaken();
    this.#settle(isComplete ? undefined : new HubError("client_disconnected", gone));
  }

  /** The last byte of a whole answer is with the client's socket. */
  #handedOver(): void {
    this.#settle(undefined);
  }

  // — deadlines and cuts —

  tick(nowMs: number): void {
    this.#guard(() => {
      const queuedMs = this.#state.kind === "queued" ? this.#state.place.sinceMs : undefined;
      checkRequest(this.#deps.limits, nowMs, this.#call.startedMs, queuedMs);
      if (this.#delivery.isLeftOpen(nowMs) && this.#endIfOver()) return;
      this.#delivery.tick(nowMs);
    });
  }

  cut(error: HubError): void {
    if (this.#isSettled) return;
    // The hub is about to tell its watchers good-bye: what is whole is complete now.
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

  /** Nothing that happens to its path can make an answer less that has said it is whole. */
  #endIfOver(): boolean {
    if (!this.#delivery.endIfOver(() => this.#handedOver())) return false;
    this.#attempt?.cancel("complete");
    return true;
  }

  #fail(error: HubError): void {
    if (this.#isSettled) return;
    // A client that takes nothing would not take the end either.
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
    return this.#attempt?.participant ?? this.#routing.firstFailure?.participant;
  }

  /** Exactly one terminal event per request. @param error - undefined when the answer was complete */
  #settle(error: HubError | undefined, providerCode?: string): void {
    if (this.#isSettled) return;
    this.#leaveQueue();
    const attempt = this.#attempt;
    this.#state = { kind: "settled", attempt };
    this.#deps.inFlight.remove(this);
    attempt?.cancel(error?.message ?? "complete");
    this.#forgetBody();
    this.#call.onSettled();
    announceEnd(this.#deps, this.#call, this.#facts(), this.#delivery, error, providerCode);
  }

  #forgetBody(): void {
    const isTaken = this.#attempt?.isBodyTaken ?? true;
    this.#call.asking.forget(isTaken && !this.#isBodyLent);
  }

  #facts(): RequestFacts {
    return {
      requestId: this.#call.requestId,
      participant: this.#lastParticipant,
      protocol: this.#call.asking.protocol,
      selector: this.#call.asking.selector,
      attempts: this.#attempts,
      queueMs: this.#queueMs,
    };
  }
}
