import { type ErrorCode, refusesStreamOptions } from "@roomhub/protocol";
import type { Participant } from "../domain/participant.ts";
import { parseSelector, type Selector } from "../domain/selection-query.ts";
import { mayMoveElsewhere, selectParticipant, type Selection } from "../domain/selector.ts";
import { asHubError, HubError } from "../errors.ts";
import { errorHeaders } from "./answer.ts";
import { Attempt, type AttemptOwner } from "./attempt.ts";
import type { ClientListener } from "./client-response.ts";
import { checkRequest } from "./deadline.ts";
import { Delivery } from "./delivery.ts";
import type { RunningRequest } from "./in-flight.ts";
import type { DispatchDeps, InferenceCall } from "./inference-call.ts";
import { metricsOf } from "./metrics.ts";
import type { QueueEntry, RoomQueue } from "./queue.ts";
import { completePayload, failurePayload, servedBy, type RequestFacts } from "./request-facts.ts";
import { pathIsGone, refuseLoops, withoutSecrets } from "./routing-errors.ts";
import type { ResponseHead, Upstream, UpstreamFailure } from "./upstream.ts";

/** What paths report when the request may not have got anywhere; `provider_error` is an agent that would not take it. */
const pathFailures: ReadonlySet<ErrorCode> = new Set([
  "tunnel_lost",
  "provider_unreachable",
  "provider_error",
]);

/**
 * One request from routing to its end: select → queue → open → observe → settle. Everything that can end it (the last
 * frame, a lost tunnel, a deadline, the client, a drain, a bug) comes to {@link Dispatch.#settle}, which acts once.
 */
export class Dispatch implements ClientListener, QueueEntry, RunningRequest, AttemptOwner {
  readonly #deps: DispatchDeps;
  readonly #call: InferenceCall;
  readonly #selector: Selector;
  #attempt: Attempt | undefined;
  #attempts = 0;
  /** Who failed first and how, once the request was moved elsewhere. */
  #firstFailure: { participant: Participant; error: HubError } | undefined;
  readonly #delivery: Delivery;
  #queue: RoomQueue | undefined;
  #queuedMs = 0;
  #queueMs = 0;
  /** Somebody who failed may still be reading the request's body. */
  #isBodyLent = false;
  #isSettled = false;
  /** the only one that can answer */
  #pinned: Participant | undefined;
  #mayRemember: boolean;
  candidates: readonly Participant[] = [];
  place = -1;

  constructor(deps: DispatchDeps, call: InferenceCall) {
    this.#deps = deps;
    this.#call = call;
    this.#selector = parseSelector(call.asking.selector);
    this.#mayRemember = call.asking.makesResponse;
    this.#delivery = new Delivery(deps, call);
  }

  get clientKey(): string {
    return this.#call.clientKey;
  }

  get selectionKey(): string {
    if (this.#firstFailure !== undefined) return this.#call.requestId;
    if (this.#pinned !== undefined) return `pinned ${this.#pinned.key}`;
    return this.#call.asking.selectionKey;
  }

  /** Never throws; every failure is answered. */
  start(): void {
    this.#deps.inFlight.add(this);
    this.#guard(() => {
      refuseLoops(this.#call.hops, this.#deps.bootId);
      const { asking, room } = this.#call;
      this.#pinned = asking.pinnedTo((id) => this.#deps.responseMakers.makerOf(room, id));
      this.#route(false);
    });
  }

  // — routing and waiting —

  #route(isRetry: boolean): void {
    const selection = this.#select();
    if (selection.kind === "selected") this.#open(selection.participant);
    else if (selection.kind === "busy") this.#wait(selection.candidates, isRetry);
    else throw this.#refusal(selection);
  }

  #select(): Selection {
    return selectParticipant(this.#call.room, {
      selector: this.#selector,
      protocol: this.#call.asking.protocol,
      excluded: this.#firstFailure?.participant,
      only: this.#pinned,
      random: this.#deps.random,
    });
  }

  #wait(candidates: Participant[], atHead: boolean): void {
    this.candidates = candidates;
    const queue = this.#deps.queues.of(this.#call.room.code);
    queue.add(this, atHead);
    this.#queue = queue;
    this.#queuedMs = this.#deps.nowMs();
  }

  tryToLeave(): boolean {
    const selection = this.#select();
    if (selection.kind === "busy") return false;
    this.#leaveQueue();
    this.#guard(() => {
      if (selection.kind === "selected") this.#open(selection.participant);
      else throw this.#refusal(selection);
    });
    return true;
  }

  #leaveQueue(): void {
    if (this.#queue === undefined) return;
    this.#queue.remove(this);
    this.#queue = undefined;
    this.#queueMs += this.#deps.nowMs() - this.#queuedMs;
  }

  /** A retry that finds nobody else reports what happened first. */
  #refusal(selection: Extract<Selection, { kind: "refused" }>): HubError {
    if (this.#firstFailure !== undefined) return this.#firstFailure.error;
    const { code, message, hint, refusals } = selection;
    const refusal = new HubError(code, message, { hint, param: "model", participants: refusals });
    return this.#pinned === undefined
      ? refusal
      : this.#call.asking.refusalOf(this.#pinned, refusal);
  }

  // — one attempt —

  #open(participant: Participant): void {
    const upstream = this.#deps.upstreamFor(participant);
    if (upstream === undefined) {
      throw this.#firstFailure?.error ?? pathIsGone(participant);
    }
    const { requestId, room, asking } = this.#call;
    this.#attempts++;
    this.#deps.emit.llmRequest(room.code, {
      requestId,
      participantId: participant.id,
      model: participant.model,
      protocol: asking.protocol,
      selector: asking.selector,
      attempt: this.#attempts,
    });
    this.#ask(participant, upstream, asking.mayAskUsageOf(participant));
  }

  #ask(participant: Participant, upstream: Upstream, asksUsage: boolean): void {
    const { asking, hops } = this.#call;
    if (this.#attempt !== undefined) this.#leave(this.#attempt);
    const scrubber = this.#deps.scrubberOf(participant);
    const attempt = new Attempt(participant, this, this.#deps.queues, asksUsage, scrubber);
    this.#attempt = attempt;
    this.#delivery.begin(servedBy(this.#facts(), participant), asksUsage, scrubber);
    const passed = [...hops, this.#deps.bootId];
    attempt.open(upstream, asking.requestFor(participant, passed, asksUsage));
  }

  attemptHead(attempt: Attempt, head: ResponseHead): void {
    if (this.#isStale(attempt)) return;
    try {
      // A stream that has begun is not asked for once more, and may last long.
      if (this.#delivery.head(head) === "stream") this.#forgetBody();
    } catch (thrown) {
      this.#attemptFailed(attempt, thrown, false);
    }
  }

  attemptData(attempt: Attempt, chunk: Buffer): boolean {
    if (this.#isStale(attempt)) return true;
    try {
      const hasRoom = this.#delivery.data(chunk);
      if (this.#mayRemember) this.#rememberResponse(attempt.participant);
      return hasRoom;
    } catch (thrown) {
      this.#attemptFailed(attempt, thrown, false);
      return true;
    }
  }

  attemptEnd(attempt: Attempt): void {
    if (this.#isStale(attempt)) return;
    try {
      const end = this.#delivery.end(() => this.#handedOver());
      if (this.#mayRemember) this.#rememberResponse(attempt.participant);
      if (end.kind === "told") this.#settle(withoutSecrets(end.error, attempt.scrubber));
      if (end.kind === "refused") this.#tellRefusal(attempt, end.status, end.body);
    } catch (thrown) {
      this.#attemptFailed(attempt, thrown, false);
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
      this.#attemptFailed(attempt, thrown, pathFailures.has(failure.code));
    }
  }

  /** So that who goes on from this answer comes back to its maker, also while it is still being made. */
  #rememberResponse(maker: Participant): void {
    const { responseId } = this.#delivery;
    if (responseId === undefined) return;
    this.#mayRemember = false;
    this.#deps.responseMakers.remember(this.#call.room, responseId, maker);
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
      this.#attemptFailed(attempt, thrown, status === 502 || status === 503);
    }
  }

  /** Our own addition was refused, not the client's request: the same again without it, and never more here. */
  #askWithoutUsage({ participant }: Attempt): void {
    participant.refusesStreamUsage = true;
    this.#guard(() => {
      const upstream = this.#deps.upstreamFor(participant);
      if (upstream === undefined) throw pathIsGone(participant);
      this.#ask(participant, upstream, false);
    });
  }

  /**
   * At most one retry, elsewhere, and only while nothing was promised to the client. Contract §3.
   *
   * @param isPathFailure - the path broke, or the provider said 502 or 503: another participant may do better
   */
  #attemptFailed(attempt: Attempt, thrown: unknown, isPathFailure: boolean): void {
    const error = withoutSecrets(this.#asHubError(thrown), attempt.scrubber);
    const isRetryable =
      this.#attempts === 1 &&
      isPathFailure &&
      !this.#call.client.isHeadWritten &&
      this.#pinned === undefined &&
      mayMoveElsewhere(this.#selector, attempt.participant);
    if (!isRetryable) {
      this.#fail(error);
      return;
    }
    attempt.cancel(error.message);
    this.#leave(attempt);
    this.#firstFailure = { participant: attempt.participant, error };
    this.#guard(() => this.#route(true));
  }

  #leave(attempt: Attempt): void {
    this.#isBodyLent ||= !attempt.isBodyTaken;
    this.#attempt = undefined;
  }

  // — the client's side —

  onDrain(): void {
    if (this.#isSettled) return;
    this.#delivery.drained();
    this.#attempt?.resume();
  }

  onGone(): void {
    if (this.#isSettled) return;
    const gone = "The client went away before the answer was complete.";
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
      const queuedMs = this.#queue === undefined ? undefined : this.#queuedMs;
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
    else client.refuse(error, errorHeaders(error, this.#facts(), this.#delivery.refusalHints()));
    this.#settle(error);
  }

  get #lastParticipant(): Participant | undefined {
    return this.#attempt?.participant ?? this.#firstFailure?.participant;
  }

  /** Exactly one terminal event per request. @param error - undefined when the answer was complete */
  #settle(error: HubError | undefined, providerCode?: string): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#leaveQueue();
    this.#deps.inFlight.remove(this);
    this.#attempt?.cancel(error?.message ?? "complete");
    this.#forgetBody();
    this.#call.onSettled();
    this.#emitEnd(error, providerCode);
  }

  #forgetBody(): void {
    const isTaken = this.#attempt?.isBodyTaken ?? true;
    this.#call.asking.forget(isTaken && !this.#isBodyLent);
  }

  #emitEnd(error: HubError | undefined, providerCode: string | undefined): void {
    const { emit, nowMs } = this.#deps;
    const { room, startedMs } = this.#call;
    const facts = this.#facts();
    if (error !== undefined) {
      emit.llmError(room.code, failurePayload(facts, error, providerCode), error.status);
      return;
    }
    const endMs = nowMs();
    const { firstContentMs, usage } = this.#delivery;
    const ttftMs = (firstContentMs ?? endMs) - startedMs;
    emit.llmComplete(
      room.code,
      completePayload(facts, metricsOf(ttftMs, endMs - startedMs, usage)),
    );
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
