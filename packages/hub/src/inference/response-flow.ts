import { readContextRefusal, refusesStreamOptions } from "@roomhub/protocol";
import type { Participant } from "../domain/participant.ts";
import { isLoading } from "../domain/readiness.ts";
import { HubError } from "../errors.ts";
import { budgetRefusal, defaultRestMs, retryAfterOf } from "./response/budget-refusal.ts";
import type { Delivery } from "./response/delivery.ts";
import type { Attempt, AttemptOwner } from "./attempt.ts";
import type { DispatchDeps, InferenceCall } from "./inference-call.ts";
import { RequestProgress } from "./request-progress.ts";
import { causeOf, type FailureCause } from "./retry.ts";
import { withoutSecrets } from "./routing-errors.ts";
import type { ResponseHead, UpstreamFailure } from "./upstream.ts";

/** For so long other requests wait for a model server with too much to do that does not say how long. */
const defaultOverloadMs = 1_000;
/** The same where an agent refuses for requests of other hubs, of whose end this one does not learn. */
const busyMs = 500;
/** However long it says, they wait no longer. */
const longestOverloadMs = 15_000;

/** The request that responses are for. */
export interface FlowOwner {
  /** Whether what this attempt brings still counts. */
  isCurrent(attempt: Attempt): boolean;
  /** A stream has begun: there is no further attempt. */
  streamBegan(): void;
  /** @param error - undefined when the response was complete */
  settle(error: HubError | undefined, providerCode?: string): void;
  attemptFailed(attempt: Attempt, thrown: unknown, cause: FailureCause): void;
  /** The request is longer than the context. @returns whether it can go to a participant that may have a larger one */
  contextRefused(attempt: Attempt, isPromptTooLong: boolean): boolean;
  /** The agent has not passed the request on: it waits at the head of its queue, as if it had not been sent. */
  sendBack(): void;
  /** Whether the request can go to another participant at once. */
  isAnotherReady(attempt: Attempt, cause: FailureCause): boolean;
  /** The same participant refused what the hub added: the request goes there once more without it. */
  sendWithoutUsage(participant: Participant): void;
}

/** What the attempts of one request bring, on its way to the client. */
export class ResponseFlow implements AttemptOwner {
  readonly #owner: FlowOwner;
  readonly #deps: DispatchDeps;
  readonly #call: InferenceCall;
  readonly #delivery: Delivery;
  /** One function for all attempts: the last byte of a complete response is with the client's socket. */
  readonly #handedOver = (): void => this.#owner.settle(undefined);
  /** One function for all attempts. */
  readonly #firstEvent = (data: string | undefined): boolean => this.#mayLeave(data);
  #streaming: Attempt | undefined;
  /** what the first event of a stream says, when the request leaves for it */
  #refusalInStream: string | undefined;
  #mayRemember: boolean;
  #progress: RequestProgress | undefined;
  #resumes = 0;

  constructor(owner: FlowOwner, deps: DispatchDeps, call: InferenceCall, delivery: Delivery) {
    this.#owner = owner;
    this.#deps = deps;
    this.#call = call;
    this.#delivery = delivery;
    this.#mayRemember = call.request.makesResponse;
  }

  /** how often a lost path came back during the request */
  get resumes(): number {
    return this.#resumes;
  }

  attemptHead(attempt: Attempt, head: ResponseHead): void {
    if (!this.#owner.isCurrent(attempt)) return;
    try {
      this.#streaming = attempt;
      this.#delivery.head(head, this.#firstEvent);
      attempt.refusal = head.refusal;
      if (head.status < 300) this.#succeeded(attempt);
    } catch (thrown) {
      this.#owner.attemptFailed(attempt, thrown, "other");
    }
  }

  #succeeded({ participant, credentials }: Attempt): void {
    credentials.haveWorked = true;
    if (participant.overloadedUntilMs === undefined) return;
    participant.overloadedUntilMs = undefined;
    this.#deps.queues.wake(participant.roomCode);
  }

  attemptData(attempt: Attempt, chunk: Buffer): boolean {
    if (!this.#owner.isCurrent(attempt)) return true;
    try {
      const hasRoom = this.#deps.detail.isWatched
        ? this.#dataInDetail(attempt, chunk)
        : this.#delivery.data(chunk);
      if (this.#refusalInStream !== undefined) return this.#leaveStream(attempt);
      if (this.#mayRemember) this.#rememberResponse(attempt.participant);
      return hasRoom;
    } catch (thrown) {
      this.#owner.attemptFailed(attempt, thrown, "other");
      return true;
    }
  }

  /** The first event of a stream: a context error, before any content, moves the request. */
  #mayLeave(data: string | undefined): boolean {
    const attempt = this.#streaming;
    this.#streaming = undefined;
    const refusal = data?.includes("error") === true ? readContextRefusal(data) : undefined;
    if (
      refusal !== undefined &&
      attempt !== undefined &&
      this.#owner.contextRefused(attempt, refusal.isPromptTooLong)
    ) {
      this.#refusalInStream = data;
      return true;
    }
    this.#owner.streamBegan();
    return false;
  }

  #leaveStream(attempt: Attempt): true {
    const text = this.#refusalInStream ?? "";
    this.#refusalInStream = undefined;
    this.#contextFailed(attempt, 400, attempt.scrubber?.(text) ?? text);
    return true;
  }

  #contextFailed(attempt: Attempt, status: number, text: string): void {
    let error: unknown;
    try {
      ({ error } = this.#delivery.readRefusal(status, text));
    } catch (thrown) {
      error = thrown;
    }
    this.#owner.attemptFailed(attempt, error, "context");
  }

  #dataInDetail({ participant }: Attempt, chunk: Buffer): boolean {
    this.#progress ??= new RequestProgress(this.#deps, this.#call, this.#delivery);
    const hadContent = this.#delivery.contentMs !== undefined;
    const hasRoom = this.#delivery.data(chunk);
    if (hadContent) this.#progress.further();
    else this.#progress.first(participant.id);
    return hasRoom;
  }

  attemptResumed(attempt: Attempt): void {
    if (this.#owner.isCurrent(attempt)) this.#resumes++;
  }

  attemptEnd(attempt: Attempt): void {
    if (!this.#owner.isCurrent(attempt)) return;
    try {
      const end = this.#delivery.end(this.#handedOver);
      if (this.#delivery.hasHiddenTimings && !attempt.participant.reportsUsageItself) {
        attempt.participant.reportsUsageItself = true;
      }
      if (this.#mayRemember) this.#rememberResponse(attempt.participant);
      if (end.kind === "provider-error")
        this.#owner.settle(withoutSecrets(end.error, attempt.scrubber));
      if (end.kind === "refused") this.#refused(attempt, end.status, end.body);
    } catch (thrown) {
      // Of a stream whose one event lacks its blank line, nothing has passed.
      if (this.#refusalInStream !== undefined) this.#leaveStream(attempt);
      else this.#owner.attemptFailed(attempt, thrown, "other");
    }
  }

  attemptLost(attempt: Attempt, failure: UpstreamFailure): void {
    if (!this.#owner.isCurrent(attempt)) return;
    try {
      const hint = `See what is wrong: roomhub doctor ${this.#call.room.code}`;
      const error = new HubError(failure.code, failure.message, { hint });
      this.#delivery.lost(error, this.#handedOver);
    } catch (thrown) {
      this.#owner.attemptFailed(attempt, thrown, causeOf(failure.code));
    }
  }

  /** Its tunnel has no connection: the request goes elsewhere if another participant is free. */
  leaveGap(attempt: Attempt): void {
    if (!this.#owner.isAnotherReady(attempt, "path")) return;
    const { id } = attempt.participant;
    const error = new HubError("tunnel_lost", `The tunnel to ${id} was lost.`);
    this.#owner.attemptFailed(attempt, error, "path");
  }

  /** A response that reported its own end is complete, whatever happens to its path. */
  endIfOver(): boolean {
    return this.#delivery.endIfOver(this.#handedOver);
  }

  /** So that a request which continues this response goes to the same participant, even before it is complete. */
  #rememberResponse(owner: Participant): void {
    const { responseId } = this.#delivery;
    if (responseId === undefined) return;
    this.#mayRemember = false;
    this.#deps.responseOwners.remember(this.#call.room, responseId, owner);
  }

  /** The provider responded with an error status. */
  #refused(attempt: Attempt, status: number, body: Buffer): void {
    const raw = body.toString("utf8");
    const text = attempt.scrubber?.(raw) ?? raw;
    if (attempt.requestsUsage && refusesStreamOptions(status, text)) {
      attempt.participant.refusesStreamUsage = true;
      this.#owner.sendWithoutUsage(attempt.participant);
      return;
    }
    if (attempt.refusal === "busy") {
      this.#deps.participantOverloaded(attempt.participant, this.#deps.nowMs() + busyMs);
      this.#owner.sendBack();
      return;
    }
    if (attempt.refusal === "budget" || attempt.refusal === "person") {
      const error = this.#budgetError(attempt, text);
      this.#owner.attemptFailed(attempt, error, "budget");
      return;
    }
    const refusal = readContextRefusal(text);
    if (refusal !== undefined && this.#owner.contextRefused(attempt, refusal.isPromptTooLong)) {
      this.#contextFailed(attempt, status, text);
      return;
    }
    const isOverload = status === 503 && !isLoading(attempt.participant);
    if (isOverload) this.#overloaded(attempt.participant);
    const isBusy = status === 429 || isOverload;
    const mayMove = isBusy && this.#owner.isAnotherReady(attempt, status);
    try {
      if (mayMove) {
        const { error } = this.#delivery.readRefusal(status, text);
        this.#owner.attemptFailed(attempt, error, status);
        return;
      }
      const { error, providerCode } = this.#delivery.refuse(status, text);
      this.#owner.settle(error, providerCode);
    } catch (thrown) {
      // Where no other is ready, the client gets what a server with too much to do says of when to come back.
      const isLast = isOverload && !mayMove;
      this.#owner.attemptFailed(attempt, thrown, isLast ? "busy" : status);
    }
  }

  #overloaded(participant: Participant): void {
    const saysMs = retryAfterOf(this.#delivery.refusalHints(), defaultOverloadMs);
    const restMs = Math.min(longestOverloadMs, saysMs);
    this.#deps.participantOverloaded(participant, this.#deps.nowMs() + restMs);
  }

  /** The participant's agent refuses the request. Of a person's budget nothing follows for others. */
  #budgetError({ participant, refusal }: Attempt, text: string): HubError {
    const { nowMs, participantRests } = this.#deps;
    const saysMs = retryAfterOf(this.#delivery.refusalHints(), defaultRestMs);
    const retryAfterMs = Math.max(1_000, saysMs);
    if (refusal === "budget") {
      participantRests(participant, nowMs() + retryAfterMs);
    }
    return budgetRefusal(participant.id, text, retryAfterMs);
  }
}
