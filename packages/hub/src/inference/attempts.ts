import {
  type ContextRefusal,
  type ErrorCode,
  readContextRefusal,
  recognisableRefusal,
  refusesStreamOptions,
} from "@roomhub/protocol";
import { paceOf, type Participant } from "../domain/participant.ts";
import { noteBatchTokensSpent } from "../domain/placement/spare-slots.ts";
import { isLoading } from "../domain/readiness.ts";
import { asHubError, HubError } from "../errors.ts";
import { Attempt, type AttemptListener } from "./attempt.ts";
import type { DispatchDeps, InferenceCall } from "./inference-call.ts";
import type { ServedBy } from "./request-facts.ts";
import { RequestProgress } from "./request-progress.ts";
import { budgetRefusal, defaultRestMs, retryAfterOf } from "./response/refusal.ts";
import { Delivery } from "./response/delivery.ts";
import { causeOf, type FailureCause } from "./retry.ts";
import { pathIsLost, withoutSecrets } from "./routing-errors.ts";
import type { Routing } from "./routing.ts";
import type { ResponseHead, Upstream, UpstreamFailure } from "./upstream.ts";

/** How long other requests wait for an overloaded model server that does not say how long. */
const defaultOverloadMs = 1_000;
/** The same for an agent that is busy with requests of other hubs, whose end this hub does not see. */
const busyMs = 500;
/** The longest wait, whatever the model server says. */
const longestOverloadMs = 15_000;

/** The request that the attempts are made for. */
export interface AttemptedRequest {
  /** @param error - undefined when the response was complete */
  settle(error: HubError | undefined, providerCode?: string): void;
  /** Ends the request with an error that its client gets. */
  fail(error: HubError): void;
  /** Routes the request again, ahead of the requests that wait. */
  retry(): void;
}

/** The attempts of one request, one after the other, and what becomes of their responses. Contract §3, "Retry". */
export class Attempts implements AttemptListener {
  /** the response on its way to the client, whichever attempt it comes from */
  readonly delivery: Delivery;
  readonly #request: AttemptedRequest;
  readonly #deps: DispatchDeps;
  readonly #call: InferenceCall;
  readonly #routing: Routing;
  #count = 0;
  /** the attempt that runs, or ran last; undefined between two */
  #current: Attempt | undefined;
  #served: ServedBy | undefined;
  #isClosed = false;
  /** An earlier participant may still be reading the request's body. */
  #isBodyLent = false;
  /** the attempt whose stream has not shown its first event yet */
  #streaming: Attempt | undefined;
  /** the first event of a stream, when the request leaves the stream because of it */
  #refusalInStream: string | undefined;
  #mayRemember: boolean;
  #progress: RequestProgress | undefined;
  #resumes = 0;

  constructor(
    request: AttemptedRequest,
    deps: DispatchDeps,
    call: InferenceCall,
    routing: Routing,
  ) {
    this.#request = request;
    this.#deps = deps;
    this.#call = call;
    this.#routing = routing;
    this.#mayRemember = call.request.makesResponse;
    this.delivery = new Delivery(deps, call);
  }

  /** One function for all attempts: the client's socket has the last byte of a complete response. */
  readonly #handedOver = (): void => this.#request.settle(undefined);
  /** One function for all attempts. */
  readonly #firstEvent = (data: string | undefined) => this.#seeFirstEvent(data);

  /** attempts made so far, as the client counts them */
  get count(): number {
    return this.#count;
  }

  /** the participant of the attempt that runs, or ran last; undefined between two */
  get participant(): Participant | undefined {
    return this.#current?.participant;
  }

  /** the participant that loads its model for the attempt that runs; undefined when none does */
  get loading(): Participant | undefined {
    return this.#current?.loadsModel === true ? this.#current.participant : undefined;
  }

  /** how often an interrupted tunnel resumed during the request */
  get resumes(): number {
    return this.#resumes;
  }

  /** No buffer of the request's body is read any more. */
  get #isBodyTaken(): boolean {
    return !this.#isBodyLent && (this.#current?.isBodyTaken ?? true);
  }

  // — sending —

  /** The next attempt begins. @throws HubError when its path is closed: the first failure, where there was one */
  next(participant: Participant): Upstream {
    const upstream = this.#upstreamFor(participant);
    this.#count++;
    return upstream;
  }

  #upstreamFor(participant: Participant): Upstream {
    const upstream = this.#deps.upstreamFor(participant);
    if (upstream !== undefined) return upstream;
    throw this.#routing.firstFailure?.error ?? pathIsLost(participant);
  }

  send(
    participant: Participant,
    upstream: Upstream,
    served: ServedBy,
    requestsUsage: boolean = this.#call.request.mayRequestUsageOf(participant),
  ): void {
    this.leave();
    const { queues, nowMs, scrubberOf, bootId } = this.#deps;
    const { request, hops, sender } = this.#call;
    const { prompt, form } = this.#routing;
    const scrubber = scrubberOf(participant);
    const attempt = new Attempt(participant, this, {
      ...{ sender, queues, nowMs, requestsUsage, scrubber, form },
      pace: paceOf(participant, request.capability),
      promptBytes: prompt.bytes,
      coldBytes: this.#routing.coldBytesOf(participant),
      isBatch: request.isBatch,
    });
    this.#current = attempt;
    this.#served = served;
    this.#routing.noteChosen(participant);
    this.delivery.begin(served, requestsUsage, scrubber);
    const sent = request.requestFor(participant, [...hops, bootId], requestsUsage);
    attempt.open(upstream, { ...sent, sender, isBatch: request.isBatch }, request.upload);
  }

  /** The same participant refused what the hub added: the request goes there once more without it. */
  #sendWithoutUsage({ participant }: Attempt): void {
    if (this.#served === undefined) return;
    try {
      this.send(participant, this.#upstreamFor(participant), this.#served, false);
    } catch (thrown) {
      this.#request.fail(asHubError(thrown, this.#deps.reportBug));
    }
  }

  /** The current attempt is not the request's any more. */
  leave(): void {
    if (this.#current === undefined) return;
    this.#isBodyLent ||= !this.#current.isBodyTaken;
    this.#current = undefined;
    this.#call.request.upload?.leave();
  }

  // — the response —

  #isCurrent(attempt: Attempt): boolean {
    return !this.#isClosed && attempt === this.#current;
  }

  attemptHead(attempt: Attempt, head: ResponseHead): void {
    if (!this.#isCurrent(attempt)) return;
    try {
      this.#streaming = attempt;
      this.delivery.head(head, this.#firstEvent);
      attempt.refusal = head.refusal;
      if (head.status < 300) this.#succeeded(attempt);
    } catch (thrown) {
      this.#failed(attempt, thrown, "other");
    }
  }

  #succeeded({ participant, credentials }: Attempt): void {
    credentials.haveWorked = true;
    if (participant.load.overloadedUntilMs === undefined) return;
    participant.load.overloadedUntilMs = undefined;
    this.#deps.queues.wake(participant.roomCode);
  }

  attemptData(attempt: Attempt, chunk: Buffer): boolean {
    if (!this.#isCurrent(attempt)) return true;
    try {
      const hasRoom = this.#deps.detail.isWatched
        ? this.#dataInDetail(attempt, chunk)
        : this.delivery.data(chunk);
      if (this.#refusalInStream !== undefined) return this.#leaveStream(attempt);
      if (this.#mayRemember) this.#rememberResponse(attempt.participant);
      return hasRoom;
    } catch (thrown) {
      this.#failed(attempt, thrown, "other");
      return true;
    }
  }

  #dataInDetail({ participant }: Attempt, chunk: Buffer): boolean {
    this.#progress ??= new RequestProgress(this.#deps, this.#call, this.delivery);
    const hadContent = this.delivery.contentMs !== undefined;
    const hasRoom = this.delivery.data(chunk);
    if (hadContent) this.#progress.further();
    else this.#progress.first(participant.id);
    return hasRoom;
  }

  /** See {@link FirstEvent}: a context error, before any content, moves the request, or passes as clients recognise it. */
  #seeFirstEvent(data: string | undefined): string | undefined {
    const attempt = this.#streaming;
    this.#streaming = undefined;
    const refusal = data?.includes("error") === true ? readContextRefusal(data) : undefined;
    const isRefused = refusal !== undefined && attempt !== undefined;
    if (isRefused && this.#contextRefused(attempt, refusal)) {
      this.#refusalInStream = data;
      return undefined;
    }
    // The stream may last long, and there is no further attempt.
    this.#call.request.forget(this.#isBodyTaken);
    if (data === undefined || refusal === undefined) return data;
    return recognisableRefusal(data, refusal, this.#call.request.errorShape);
  }

  #leaveStream(attempt: Attempt): true {
    const text = this.#refusalInStream ?? "";
    this.#refusalInStream = undefined;
    this.#contextFailed(attempt, 400, scrubbed(attempt, text));
    return true;
  }

  /** The request is longer than the context. @returns whether it can go to a participant with a larger one */
  #contextRefused(attempt: Attempt, refusal: ContextRefusal): boolean {
    return this.#routing.noteContextRefusal(attempt, this.#count, refusal);
  }

  #contextFailed(attempt: Attempt, status: number, text: string): void {
    let error: unknown;
    try {
      ({ error } = this.delivery.readRefusal(status, text));
    } catch (thrown) {
      error = thrown;
    }
    this.#failed(attempt, error, "context");
  }

  attemptResumed(attempt: Attempt): void {
    if (this.#isCurrent(attempt)) this.#resumes++;
  }

  attemptEnd(attempt: Attempt): void {
    if (!this.#isCurrent(attempt)) return;
    const { participant } = attempt;
    try {
      const end = this.delivery.end(this.#handedOver);
      if (this.delivery.stream?.hasHiddenTimings === true)
        participant.learned.reportsUsageItself = true;
      if (this.#mayRemember) this.#rememberResponse(participant);
      if (end.kind === "provider-error")
        this.#request.settle(withoutSecrets(end.error, attempt.options.scrubber));
      if (end.kind === "refused") this.#refused(attempt, end.status, end.body);
    } catch (thrown) {
      // Nothing has passed of a stream whose only event lacks its blank line.
      if (this.#refusalInStream !== undefined) this.#leaveStream(attempt);
      else this.#failed(attempt, thrown, "other");
    }
  }

  attemptLost(attempt: Attempt, failure: UpstreamFailure): void {
    if (!this.#isCurrent(attempt)) return;
    try {
      // After `[DONE]` or a terminal event the response is complete nevertheless. Contract §4.
      if (this.delivery.endIfOver(this.#handedOver)) return;
      const hint = `See what is wrong: roomhub doctor ${this.#call.room.code}`;
      throw new HubError(failure.code, failure.message, { hint });
    } catch (thrown) {
      this.#failed(attempt, thrown, causeOf(failure));
    }
  }

  /** So that a request which continues this response goes to the same participant, even before it is complete. */
  #rememberResponse(participant: Participant): void {
    const responseId = this.delivery.relayed?.responseId;
    if (responseId === undefined) return;
    this.#mayRemember = false;
    const { room, access } = this.#call;
    const name = access?.own(responseId) ?? responseId;
    this.#deps.storedResponses.remember(room, name, participant);
  }

  // — refusals and failures —

  /** The provider responded with an error status. */
  #refused(attempt: Attempt, status: number, body: Buffer): void {
    const { participant, refusal } = attempt;
    const text = scrubbed(attempt, body.toString("utf8"));
    if (attempt.options.requestsUsage && refusesStreamOptions(status, text)) {
      participant.learned.refusesStreamUsage = true;
      return this.#sendWithoutUsage(attempt);
    }
    if (this.#maySendAgain(attempt) && this.#isSentBack(attempt)) {
      // The agent has not passed the request on, so this was no attempt: it waits, or goes elsewhere.
      this.#count--;
      return this.#request.retry();
    }
    if (refusal === "budget" || refusal === "person" || refusal === "batch") {
      return this.#failed(attempt, this.#budgetError(attempt, text), "budget");
    }
    const context = readContextRefusal(text);
    if (context !== undefined && this.#contextRefused(attempt, context)) {
      return this.#contextFailed(attempt, status, text);
    }
    const isOverload = status === 503 && !isLoading(participant);
    if (isOverload) this.#overloaded(participant);
    const isBusy = status === 429 || isOverload;
    const mayMove = isBusy && this.#isAnotherReady(attempt, status);
    try {
      if (mayMove) {
        const { error } = this.delivery.readRefusal(status, text);
        return this.#failed(attempt, error, status);
      }
      const { error, providerCode } = this.delivery.refuse(status, text);
      this.#request.settle(error, providerCode);
    } catch (thrown) {
      // Where no other participant is ready, the client gets the overloaded server's own retry-after.
      const isLast = isOverload && !mayMove;
      this.#failed(attempt, thrown, isLast ? "busy" : status);
    }
  }

  /** Notes why an agent gives a request back that it can take later. @returns false for other refusals */
  #isSentBack({ participant, refusal }: Attempt): boolean {
    if (refusal === "batch") return noteBatchTokensSpent(participant.load);
    if (refusal !== "busy") return false;
    this.#deps.participantOverloaded(participant, this.#deps.nowMs() + busyMs);
    return true;
  }

  #overloaded(participant: Participant): void {
    const saysMs = retryAfterOf(this.delivery.refusalHints(), defaultOverloadMs);
    const restMs = Math.min(longestOverloadMs, saysMs);
    this.#deps.participantOverloaded(participant, this.#deps.nowMs() + restMs);
  }

  /** The participant's agent refuses the request. A person's budget says nothing about other persons. */
  #budgetError({ participant, refusal }: Attempt, text: string): HubError {
    const { nowMs, participantRests } = this.#deps;
    const saysMs = retryAfterOf(this.delivery.refusalHints(), defaultRestMs);
    const retryAfterMs = Math.max(1_000, saysMs);
    if (refusal === "budget") participantRests(participant, nowMs() + retryAfterMs);
    return budgetRefusal(participant.id, text, retryAfterMs);
  }

  /** Whether the request can go to another participant at once. */
  #isAnotherReady(attempt: Attempt, cause: FailureCause): boolean {
    if (this.#call.client.isHeadWritten || !this.#maySendAgain(attempt)) return false;
    return this.#routing.isAnotherReady(attempt, cause, this.#count);
  }

  /** Whether the request's body is here. @param failure - why the attempt failed */
  #maySendAgain({ refusal }: Attempt, failure?: { cause: FailureCause; code: ErrorCode }): boolean {
    const isUntaken =
      refusal !== undefined ||
      failure?.cause === "unread" ||
      failure?.code === "provider_unreachable";
    return this.#call.request.upload?.mayBeSentAgain(isUntaken) ?? true;
  }

  /** Tries again while nothing was promised to the client and another attempt may do better. Contract §3. */
  #failed(attempt: Attempt, thrown: unknown, cause: FailureCause): void {
    const error = withoutSecrets(
      asHubError(thrown, this.#deps.reportBug),
      attempt.options.scrubber,
    );
    // Before a context error that moves the request, and while a model loads, nothing but comments has passed.
    const hasWaited = cause === "context" || this.delivery.hasOnlyWaited;
    const isPromised = this.#call.client.isHeadWritten && !hasWaited;
    const isPossible = !isPromised && this.#maySendAgain(attempt, { cause, code: error.code });
    if (!isPossible || !this.#routing.mayTryAgain(attempt, cause, this.#count))
      return this.#request.fail(error);
    if (cause === "busy") return this.#request.fail(this.#firstFailureOr(attempt, error));
    const { participant } = attempt;
    // A budget, a context and a moment of too much work say nothing about reliability.
    if (cause !== "budget" && cause !== "context" && cause !== 503) {
      attempt.options.pace.noteFailure(this.#deps.nowMs());
    }
    attempt.cancel(error.message);
    const hints = this.delivery.refusalHints();
    this.#routing.noteFailure({ participant, cause, error, hints });
    this.#request.retry();
  }

  /** No other participant is ready: the client gets the first failure of the request. */
  #firstFailureOr(attempt: Attempt, error: HubError): HubError {
    const { firstFailure } = this.#routing;
    if (firstFailure === undefined) return error;
    attempt.cancel(error.message);
    this.leave();
    return firstFailure.error;
  }

  // — time and the end —

  /** The request leaves an interrupted tunnel if another participant is free. */
  tick(nowMs: number): void {
    const attempt = this.#current;
    if (attempt?.isLookDue(nowMs) !== true || !this.#isAnotherReady(attempt, "path")) return;
    const message = `The tunnel to ${attempt.participant.id} was lost.`;
    this.#failed(attempt, new HubError("tunnel_lost", message), "path");
  }

  /** The client reads again. */
  resume(): void {
    this.delivery.drained();
    this.#current?.resume();
  }

  /** A response that reported its own end is complete, whatever happens to its path. */
  endIfOver(): boolean {
    if (!this.delivery.endIfOver(this.#handedOver)) return false;
    this.#current?.cancel("complete");
    return true;
  }

  /** The request is settled. @param error - undefined when the response was complete */
  close(error: HubError | undefined): void {
    this.#isClosed = true;
    const attempt = this.#current;
    attempt?.cancel(error?.message ?? "complete");
    if (error === undefined && attempt !== undefined) {
      const { relayed } = this.delivery;
      attempt.measure(relayed?.firstContentMs, relayed?.usage ?? {});
      this.#routing.noteRead(attempt.participant, relayed?.usage.inputTokens);
    }
    this.#call.request.forget(this.#isBodyTaken);
  }
}

function scrubbed({ options: { scrubber } }: Attempt, text: string): string {
  return scrubber?.(text) ?? text;
}
