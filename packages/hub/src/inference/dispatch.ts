import type { Participant } from "../domain/participant.ts";
import type { Selection } from "../domain/selection-query.ts";
import { beginTrial } from "../domain/readiness.ts";
import { asHubError, HubError } from "../errors.ts";
import { errorHeaders } from "./response/response-headers.ts";
import type { Attempt } from "./attempt.ts";
import { Attempts } from "./attempts.ts";
import type { ClientListener } from "./client-response.ts";
import { checkRequest } from "./response/deadline.ts";
import { Delivery } from "./response/delivery.ts";
import type { RunningRequest } from "./in-flight.ts";
import type { Sender } from "./sender/senders.ts";
import type { DispatchDeps, InferenceCall } from "./inference-call.ts";
import type { RoomQueue } from "./queue.ts";
import { QueuePlace, type QueuedRequest } from "./queue-place.ts";
import { type FlowOwner, ResponseFlow } from "./response-flow.ts";
import type { FailureCause } from "./retry.ts";
import { Routing } from "./routing.ts";
import { factsOf, requestPayload, servedBy } from "./request-facts.ts";
import type { RequestFacts, RequestStatus } from "./request-facts.ts";
import { movedAway, refuseLoops, withoutSecrets } from "./routing-errors.ts";
import { announceEnd, announceQueued } from "./settlement.ts";
import type { Upstream } from "./upstream.ts";

/** Where a request is between its start and its one end. */
type State =
  | { kind: "routing" }
  | { kind: "queued"; place: QueuePlace }
  | { kind: "attempting" }
  | { kind: "settled" };

type Busy = Extract<Selection, { kind: "busy" }>;

const routing: State = { kind: "routing" };
const settled: State = { kind: "settled" };

/**
 * One request from routing to its end: select → queue → open → observe → settle. Everything that can end it (the last
 * frame, a lost tunnel, a deadline, the client, a drain, a bug) comes to {@link Dispatch.settle}, which acts once.
 */
export class Dispatch implements ClientListener, QueuedRequest, RunningRequest, FlowOwner {
  readonly #deps: DispatchDeps;
  readonly #call: InferenceCall;
  readonly #routing: Routing;
  readonly #delivery: Delivery;
  readonly #flow: ResponseFlow;
  readonly #attempts: Attempts;
  #state: State = routing;
  #queueMs = 0;
  /** In {@link InFlight}. */
  place = -1;

  constructor(deps: DispatchDeps, call: InferenceCall) {
    this.#deps = deps;
    this.#call = call;
    this.#routing = new Routing(call.room, call.request, deps);
    this.#attempts = new Attempts(deps, call, this.#routing);
    this.#delivery = new Delivery(deps, call);
    this.#flow = new ResponseFlow(this, deps, call, this.#delivery);
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

  get #isLeaving(): boolean {
    return this.#deps.isLeaving?.(this.#call.room.code) === true;
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
    if (this.#isLeaving) return this.#moveOn();
    const selection = this.#routing.select();
    if (selection.kind === "selected") this.#open(selection.participant);
    else if (selection.kind === "busy") {
      const queue = this.#deps.queues.of(this.#call.room.code);
      if (selection.hold !== undefined && queue.isFull) {
        // It has no place to wait in, and needs none.
        this.#routing.endHold();
        return this.#route(isRetry);
      }
      this.#join(queue, selection, this.#deps.nowMs(), isRetry);
    } else throw this.#routing.refusal(selection);
  }

  #join(queue: RoomQueue, { candidates, hold }: Busy, sinceMs: number, atHead: boolean): void {
    const place = new QueuePlace(this, queue, candidates, sinceMs);
    queue.add(place, atHead);
    place.wait(hold);
    this.#state = { kind: "queued", place };
    announceQueued(this.#deps, this.#call.room, this.#facts(), place);
  }

  tryToLeave(only?: Participant): boolean {
    // The room is on its way, or may yet stay.
    if (this.#isLeaving) return false;
    const selection = this.#routing.select();
    if (only !== undefined && !(selection.kind === "selected" && selection.participant === only)) {
      return false;
    }
    if (selection.kind === "busy") {
      if (this.#state.kind !== "queued") return false;
      const { place } = this.#state;
      if (place.selectionKey !== this.selectionKey) return this.#waitElsewhere(place, selection);
      place.wait(selection.hold);
      return false;
    }
    this.#leaveQueue();
    this.#guard(() => {
      if (selection.kind === "selected") this.#open(selection.participant);
      else throw this.#routing.refusal(selection);
    });
    return true;
  }

  /** Another target of its alias can take it now: it goes on waiting there, ahead of those that come later. */
  #waitElsewhere(place: QueuePlace, selection: Busy): true {
    const { sinceMs } = place;
    place.leave(sinceMs);
    this.#join(this.#deps.queues.of(this.#call.room.code), selection, sinceMs, true);
    return true;
  }

  #leaveQueue(): void {
    if (this.#state.kind !== "queued") return;
    this.#queueMs += this.#state.place.leave(this.#deps.nowMs());
    this.#state = routing;
  }

  #moveOn(): void {
    if (this.#state.kind !== "routing" && this.#state.kind !== "queued") return;
    const { onMoved, request, onSettled, room, startedMs } = this.#call;
    if (onMoved === undefined) throw movedAway(room.code);
    this.#leaveQueue();
    this.#state = settled;
    this.#deps.inFlight.remove(this);
    onSettled();
    onMoved(room.code, { body: request.chunks, startedMs });
  }

  // — one attempt —

  #open(participant: Participant): void {
    const upstream = this.#attempts.upstreamFor(participant);
    this.#announce(participant);
    const requestsUsage = this.#call.request.mayRequestUsageOf(participant);
    this.#send(participant, upstream, { requestsUsage, isRepeated: false });
  }

  #announce(participant: Participant): void {
    this.#attempts.next();
    beginTrial(participant, this.#deps.nowMs);
    const payload = requestPayload(this.#facts(), participant);
    this.#deps.emit.llmRequest(this.#call.room.code, payload);
  }

  #send(
    participant: Participant,
    upstream: Upstream,
    how: { requestsUsage: boolean; isRepeated: boolean },
  ): void {
    const attempt = this.#attempts.create(participant, this.#flow, how);
    this.#routing.noteChosen(participant);
    this.#state = { kind: "attempting" };
    this.#deliverFrom(attempt);
    this.#attempts.open(attempt, upstream);
  }

  #deliverFrom({ participant, requestsUsage, scrubber }: Attempt): void {
    this.#delivery.begin(servedBy(this.#facts(), participant), requestsUsage, scrubber);
  }

  sendBack(): void {
    this.#attempts.takeBack();
    this.#routeAgain(true);
  }

  #routeAgain(atHead: boolean): void {
    this.#attempts.leave();
    this.#delivery.leave();
    this.#state = routing;
    this.#guard(() => this.#route(atHead));
  }

  isCurrent(attempt: Attempt): boolean {
    return !this.#isSettled && attempt === this.#attempts.current;
  }

  streamBegan(): void {
    // It may last long, and is not requested again.
    this.#call.request.forget(this.#attempts.isBodyTaken);
  }

  sendWithoutUsage(participant: Participant): void {
    const how = { requestsUsage: false, isRepeated: true };
    this.#guard(() => this.#send(participant, this.#attempts.upstreamFor(participant), how));
  }

  isAnotherReady(attempt: Attempt, cause: FailureCause): boolean {
    if (this.#call.client.isHeadWritten) return false;
    return this.#routing.isAnotherReady(attempt, cause, this.#attempts.count);
  }

  contextRefused(attempt: Attempt, isPromptTooLong: boolean): boolean {
    return this.#routing.noteContextRefusal(attempt, this.#attempts.count, isPromptTooLong);
  }

  /** Tries again while nothing was promised to the client and another attempt may do better. Contract §3. */
  attemptFailed(attempt: Attempt, thrown: unknown, cause: FailureCause): void {
    const error = withoutSecrets(this.#asHubError(thrown), attempt.scrubber);
    // Of a context error that moves, nothing has passed but comments.
    const isPromised = this.#call.client.isHeadWritten && cause !== "context";
    const { count } = this.#attempts;
    if (isPromised || !this.#routing.mayTryAgain(attempt, cause, count)) return this.#fail(error);
    if (cause === "busy") return this.#fail(this.#attempts.backToFirstFailure(attempt, error));
    const { participant } = attempt;
    // Neither a budget, a context nor a moment of too much work says how reliable it is.
    if (cause !== "budget" && cause !== "context" && cause !== 503) {
      participant.pace.noteFailure(this.#deps.nowMs());
    }
    attempt.cancel(error.message);
    this.#routing.noteFailure({ participant, error, hints: this.#delivery.refusalHints() });
    this.#routeAgain(true);
  }

  statusIn(roomCode: string): RequestStatus | undefined {
    const { room, request, startedMs, sender: holder } = this.#call;
    if (room.code !== roomCode || !request.hasEvents) return undefined;
    const place = this.#state.kind === "queued" ? this.#state.place : undefined;
    return { facts: this.#facts(), holder, startedMs, place, delivered: this.#delivery };
  }

  roomLeft(roomCode: string): void {
    if (roomCode === this.#call.room.code) this.#guard(() => this.#moveOn());
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
    this.settle(isComplete ? undefined : new HubError("client_disconnected", gone));
  }

  // — deadlines and cuts —

  tick(nowMs: number): void {
    this.#guard(() => {
      const place = this.#state.kind === "queued" ? this.#state.place : undefined;
      // All the time that it waited, before earlier attempts too.
      const queuedMs = place && place.sinceMs - this.#queueMs;
      checkRequest(this.#deps.limits, nowMs, this.#call.startedMs, queuedMs);
      if (place?.isHoldOver(nowMs) === true && this.tryToLeave()) return;
      const { current } = this.#attempts;
      if (current?.isLookDue(nowMs) === true) this.#flow.leaveGap(current);
      if (this.#delivery.isLeftOpen(nowMs) && this.#endIfOver()) return;
      this.#delivery.tick(nowMs);
    });
  }

  cut(error: HubError): void {
    if (this.#isSettled) return;
    // The event streams end next: what is whole is complete now.
    if (this.#endIfOver()) this.settle(undefined);
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

  #endIfOver(): boolean {
    if (!this.#flow.endIfOver()) return false;
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
    else {
      const hints = this.#routing.hintsOf(error) ?? this.#delivery.refusalHints();
      client.refuse(error, errorHeaders(error, this.#facts(), hints));
    }
    this.settle(error);
  }

  /** Exactly one terminal event per request. @param error - undefined when the response was complete */
  settle(error: HubError | undefined, providerCode?: string): void {
    if (this.#isSettled) return;
    this.#leaveQueue();
    this.#state = settled;
    this.#deps.inFlight.remove(this);
    const attempt = this.#attempts.current;
    attempt?.cancel(error?.message ?? "complete");
    const { firstContentMs, usage } = this.#delivery;
    if (error === undefined) attempt?.measure(firstContentMs, usage);
    if (error === undefined) this.#routing.noteRead(attempt?.participant);
    this.#call.request.forget(this.#attempts.isBodyTaken);
    this.#call.onSettled();
    announceEnd(this.#deps, this.#call, this.#facts(), this.#delivery, error, providerCode);
  }

  #facts(): RequestFacts {
    const { current, count: attempts } = this.#attempts;
    const participant = current?.participant ?? this.#routing.firstFailure?.participant;
    const [alias, queueMs, resumes] = [this.#routing.alias, this.#queueMs, this.#flow.resumes];
    return factsOf(this.#call, { participant, alias, attempts, queueMs, resumes });
  }
}
