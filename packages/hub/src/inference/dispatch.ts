import { permitsOfKey } from "../domain/keys/access.ts";
import type { Participant } from "../domain/participant.ts";
import { beginTrial, isLoading, loadingOf } from "../domain/readiness.ts";
import type { Selection } from "../domain/selection-query.ts";
import { asHubError, HubError } from "../errors.ts";
import { type AttemptedRequest, Attempts } from "./attempts.ts";
import type { ClientListener } from "./client-response.ts";
import type { RunningRequest } from "./in-flight.ts";
import type { DispatchDeps, InferenceCall } from "./inference-call.ts";
import { QueuePlace, type QueuedRequest } from "./queue-place.ts";
import {
  completePayload,
  factsOf,
  failurePayload,
  metricsOf,
  queuedPayload,
  type RequestFacts,
  requestPayload,
  type RequestStatus,
  servedBy,
} from "./request-facts.ts";
import { checkRequest } from "./response/deadline.ts";
import { errorHeaders } from "./response/response-headers.ts";
import { movedAway, refuseLoops } from "./routing-errors.ts";
import { Routing } from "./routing.ts";
import type { Sender } from "./sender/senders.ts";

/** Where a request is between its start and its one end. */
type State =
  | { kind: "routing" }
  | { kind: "queued"; place: QueuePlace }
  | { kind: "attempting" }
  | { kind: "settled" };

type Busy = Extract<Selection, { kind: "busy" }>;

const routing: State = { kind: "routing" };
const attempting: State = { kind: "attempting" };
const settled: State = { kind: "settled" };

/**
 * One request from routing to its end: select → queue → open → observe → settle. Everything that can end it (the last
 * frame, a lost tunnel, a deadline, the client, a drain, a bug) comes to {@link Dispatch.settle}, which acts once.
 */
export class Dispatch implements ClientListener, QueuedRequest, RunningRequest, AttemptedRequest {
  readonly #deps: DispatchDeps;
  readonly #call: InferenceCall;
  readonly #routing: Routing;
  readonly #attempts: Attempts;
  #state: State = routing;
  #queueMs = 0;
  /** in {@link InFlight} */
  place = -1;

  constructor(deps: DispatchDeps, call: InferenceCall) {
    this.#deps = deps;
    this.#call = call;
    this.#routing = new Routing(call.room, call.request, deps, permitsOfKey(call.access?.key));
    this.#attempts = new Attempts(this, deps, call, this.#routing);
  }

  get sender(): Sender {
    return this.#call.sender;
  }

  owns(participant: Participant): boolean {
    return participant.clientKeyDigest !== undefined && this.#deps.owns(this.sender, participant);
  }

  candidates(): readonly Participant[] {
    return this.#routing.candidates();
  }

  get isBatch(): boolean {
    return this.#call.request.isBatch;
  }

  get #isLeaving(): boolean {
    return this.#deps.isLeaving?.(this.#call.room.code) === true;
  }

  get #isSettled(): boolean {
    return this.#state.kind === "settled";
  }

  get #place(): QueuePlace | undefined {
    return this.#state.kind === "queued" ? this.#state.place : undefined;
  }

  get selectionKey(): string {
    return this.#routing.selectionKey(this.#call.requestId);
  }

  /** Never throws; every failure reaches the client. */
  start(): void {
    this.#deps.inFlight.add(this);
    this.#guard(() => {
      refuseLoops(this.#call.hops, this.#deps.bootId);
      const { request, room, access } = this.#call;
      const { storedResponses } = this.#deps;
      this.#routing.only = request.pinnedTo((id) =>
        storedResponses.holderOf(room, access?.own(id) ?? id),
      );
      this.#route(false);
    });
  }

  // — routing and waiting —

  #route(isRetry: boolean): void {
    if (this.#isLeaving) return this.#moveOn();
    const selection = this.#routing.select();
    if (selection.kind === "selected") this.#open(selection.participant);
    else if (selection.kind === "busy") {
      const queue = this.#deps.queues.of(this.#call.room.code);
      if (selection.hold !== undefined && queue.isFullFor(this.isBatch)) {
        // The queue has no place for it, and it can run elsewhere.
        this.#routing.endHold();
        return this.#route(isRetry);
      }
      this.#join(selection, this.#deps.nowMs(), isRetry);
    } else throw this.#routing.refusal(selection);
  }

  #join({ candidates, hold }: Busy, sinceMs: number, atHead: boolean): void {
    const { queues, detail, emit } = this.#deps;
    const { code } = this.#call.room;
    const queue = queues.of(code);
    const place = new QueuePlace(this, queue, candidates, sinceMs);
    queue.add(place, atHead);
    place.wait(hold);
    this.#state = { kind: "queued", place };
    if (detail.isWatched) emit.requestQueued(code, queuedPayload(this.#facts(), place.number));
  }

  tryToLeave(only?: Participant): boolean {
    // The room may be about to leave this hub, or may yet stay.
    if (this.#isLeaving) return false;
    const selection = this.#routing.select();
    if (only !== undefined && !(selection.kind === "selected" && selection.participant === only)) {
      return false;
    }
    if (selection.kind === "busy") {
      const place = this.#place;
      if (place === undefined) return false;
      if (place.selectionKey !== this.selectionKey) return this.#requeue(place, selection);
      place.wait(selection.hold);
      this.#deps.queues.of(this.#call.room.code).setCandidates(place, selection.candidates);
      return false;
    }
    this.#leaveQueue();
    this.#guard(() => {
      if (selection.kind === "selected") this.#open(selection.participant);
      else throw this.#routing.refusal(selection);
    });
    return true;
  }

  /** Requeues for the alias's next target, ahead of the requests that wait there. */
  #requeue(place: QueuePlace, selection: Busy): true {
    const { sinceMs } = place;
    place.leave(sinceMs);
    this.#join(selection, sinceMs, true);
    return true;
  }

  #leaveQueue(): void {
    if (this.#state.kind !== "queued") return;
    this.#queueMs += this.#state.place.leave(this.#deps.nowMs());
    this.#state = routing;
  }

  #moveOn(): void {
    if (this.#state.kind !== "routing" && this.#state.kind !== "queued") return;
    const { onMoved, request, onSettled, spend, room, startedMs } = this.#call;
    // What has come of a form that is still arriving would be taken for all of it.
    if (onMoved === undefined || request.upload?.isWhole === false) throw movedAway(room.code);
    this.#leaveQueue();
    this.#state = settled;
    this.#deps.inFlight.remove(this);
    spend?.(undefined);
    onSettled();
    onMoved(room.code, { body: request.chunks, startedMs });
  }

  // — attempts —

  #open(participant: Participant): void {
    const upstream = this.#attempts.next(participant);
    beginTrial(participant, this.#deps.nowMs);
    const facts = this.#facts();
    this.#noteInteractive();
    this.#deps.emit.llmRequest(this.#call.room.code, requestPayload(facts, participant));
    this.#state = attempting;
    const mayTruncate = this.#routing.mayTruncate(participant);
    this.#attempts.send(participant, upstream, servedBy(facts, participant, mayTruncate));
  }

  #noteInteractive(): void {
    const { room, request } = this.#call;
    if (request.hasEvents && !request.isBatch) room.placing.lastInteractiveMs = this.#deps.nowMs();
  }

  retry(): void {
    this.#attempts.leave();
    this.#attempts.delivery.leave();
    this.#state = routing;
    this.#guard(() => this.#route(true));
  }

  statusIn(roomCode: string): RequestStatus | undefined {
    const { room, request, startedMs, sender: holder } = this.#call;
    if (room.code !== roomCode || !request.hasEvents) return undefined;
    const { delivery: delivered } = this.#attempts;
    return { facts: this.#facts(), holder, startedMs, place: this.#place, delivered };
  }

  roomLeft(roomCode: string): void {
    if (roomCode === this.#call.room.code) this.#guard(() => this.#moveOn());
  }

  // — the client's side —

  onDrain(): void {
    if (!this.#isSettled) this.#attempts.resume();
  }

  onGone(): void {
    if (this.#isSettled) return;
    const gone = "The client disconnected before the response was complete.";
    const isComplete = this.#attempts.delivery.stream?.wasTaken() === true;
    this.settle(isComplete ? undefined : new HubError("client_disconnected", gone));
  }

  // — deadlines and cuts —

  tick(nowMs: number): void {
    this.#guard(() => {
      const refusal = refusalOf(this.#call, this.#deps.wallMs());
      if (refusal !== undefined) throw refusal;
      const place = this.#place;
      const { delivery } = this.#attempts;
      // All of its time in queues, before earlier attempts too.
      const queuedMs = place && place.sinceMs - this.#queueMs;
      checkRequest(this.#deps.limits, nowMs, this.#call, queuedMs);
      if (place?.isHoldOver(nowMs) === true && this.tryToLeave()) return;
      this.#attempts.tick(nowMs);
      if (delivery.isLeftOpen(nowMs) && this.#attempts.endIfOver()) return;
      delivery.tick(nowMs, this.#loadingText(nowMs));
    });
  }

  /** That its model is being loaded, when that is what it waits for. */
  #loadingText(nowMs: number): string | undefined {
    const { candidates = [] } = this.#place ?? {};
    const [first] = candidates;
    const participant = candidates.every(isLoading) ? (first ?? this.#attempts.loading) : undefined;
    if (participant === undefined) return undefined;
    const { sinceMs, expectedMs } = loadingOf(participant, nowMs) ?? {};
    const facts = [
      `${participant.id} loads ${participant.model}`,
      ...(sinceMs === undefined ? [] : [`for ${seconds(sinceMs)} so far`]),
      ...(expectedMs === undefined ? [] : [`${seconds(expectedMs)} before`]),
    ];
    return facts.join(", ");
  }

  cut(error: HubError): void {
    if (this.#isSettled) return;
    // The event streams end next, so a complete response settles now.
    if (this.#attempts.endIfOver()) this.settle(undefined);
    else this.fail(error);
  }

  // — the end —

  #guard(action: () => void): void {
    if (this.#isSettled) return;
    try {
      action();
    } catch (thrown) {
      this.fail(asHubError(thrown, this.#deps.reportBug));
    }
  }

  fail(error: HubError): void {
    if (this.#isSettled) return;
    // A client that stopped reading would not read the end either.
    if (error.code !== "client_stalled" && this.#attempts.endIfOver()) return;
    this.#leaveQueue();
    const { client } = this.#call;
    const { delivery } = this.#attempts;
    if (client.isHeadWritten) delivery.breakOff(error);
    else {
      const hints = this.#routing.hintsOf(error) ?? delivery.refusalHints();
      client.refuse(error, errorHeaders(error, this.#facts(), hints));
    }
    this.settle(error);
  }

  /**
   * Exactly one terminal event per request. Contract §5.
   *
   * @param error - undefined when the response was complete
   * @param providerCode - the provider's own error code, when it gave one
   */
  settle(error: HubError | undefined, providerCode?: string): void {
    if (this.#isSettled) return;
    this.#leaveQueue();
    this.#state = settled;
    this.#deps.inFlight.remove(this);
    if (this.#attempts.count > 0) this.#noteInteractive();
    this.#call.spend?.(this.#attempts.delivery.counted(error));
    this.#attempts.close(error);
    this.#call.onSettled();
    const { emit } = this.#deps;
    const { code } = this.#call.room;
    const facts = this.#facts();
    if (error === undefined) this.#announceComplete(facts);
    else emit.llmError(code, failurePayload(facts, error, providerCode), error.status);
  }

  #announceComplete(facts: RequestFacts): void {
    const { emit, nowMs } = this.#deps;
    const { room, startedMs } = this.#call;
    const { relayed } = this.#attempts.delivery;
    const endMs = nowMs();
    if (facts.participant !== undefined) facts.participant.presence.lastUsedMs = endMs;
    const ttftMs = (relayed?.firstContentMs ?? endMs) - startedMs;
    const metrics = metricsOf(ttftMs, endMs - startedMs, relayed?.usage ?? {});
    emit.llmComplete(room.code, completePayload(facts, metrics));
  }

  #facts(): RequestFacts {
    const {
      participant = this.#routing.firstFailure?.participant,
      count,
      resumes,
    } = this.#attempts;
    const [alias, queueMs] = [this.#routing.alias, this.#queueMs];
    return factsOf(this.#call, { participant, alias, attempts: count, queueMs, resumes });
  }
}

/** Why the request must not begin, or must end. @param nowMs - epoch ms @returns undefined as long as it may go on */
export function refusalOf(
  { room, sender, access }: InferenceCall,
  nowMs: number,
): HubError | undefined {
  if (!sender.isAmong(room.blocked)) return access?.refusal(nowMs);
  return new HubError("client_blocked", `The host of room ${room.code} has blocked this client.`, {
    hint: "Ask the room's host.",
  });
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
