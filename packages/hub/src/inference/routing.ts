import {
  type ModelField,
  readModelField,
  selectorText,
  selectTarget,
} from "../domain/aliases/model-field.ts";
import { isTight, withBar } from "../domain/needs/bar.ts";
import { canServe, mayTruncate } from "../domain/needs/can-serve.ts";
import { type Demand, mostBytesPerToken, noDemand, type Permits } from "../domain/needs/demand.ts";
import { noteReadTokens, noteTokens } from "../domain/needs/model-facts.ts";
import type { Participant } from "../domain/participant.ts";
import { isLoading, isOverloaded, isRoutable } from "../domain/readiness.ts";
import { isPresent, type Room } from "../domain/room.ts";
import { SpareSlots } from "../domain/placement/spare-slots.ts";
import type { ResponseForm } from "../domain/placement/pace.ts";
import type { Prompt } from "../domain/placement/warm-conversations.ts";
import {
  type Selection,
  type SelectionQuery,
  type Selector,
  isLeftToOthers,
} from "../domain/selection-query.ts";
import { candidatesFor, selectParticipant } from "../domain/selector.ts";
import type { ContextRefusal } from "@roomhub/protocol";
import { HubError } from "../errors.ts";
import type { HeaderMap } from "./response/response-headers.ts";
import type { InferenceRequest } from "./request/inference-request.ts";
import type { Attempt } from "./attempt.ts";
import { type FailureCause, type NextStep, nextStep } from "./retry.ts";

/** The failure a client gets when no other participant can serve its request. */
interface FirstFailure {
  participant: Participant;
  cause: FailureCause;
  error: HubError;
  /** the provider's headers about when to retry */
  hints: HeaderMap;
}

const none: readonly Participant[] = [];

interface RoutingDeps extends Pick<SelectionQuery, "random" | "nowMs"> {
  /** epoch ms */
  wallMs: () => number;
  /** An error of its model server named its context. */
  contextLearned: (participant: Participant, tokens: number) => void;
}

/**
 * Which participant serves one request, and which one after a failed attempt. It is also the query of the selection, so
 * that a request makes one object for all of its attempts.
 */
export class Routing implements SelectionQuery {
  /** with an alias, the target that the request is at */
  selector: Selector;
  readonly protocol: string;
  readonly random: () => number;
  readonly nowMs: () => number;
  readonly prompt: Prompt;
  readonly form: ResponseForm;
  holdUntilMs: number | undefined;
  held: SelectionQuery["held"];
  spare: SelectionQuery["spare"];
  excluded: readonly Participant[] = none;
  only: Participant | undefined;
  readonly demand: RequestDemand;
  readonly bar = undefined;
  readonly isByAlias: boolean;
  isStrict = false;
  readonly #room: Room;
  readonly #request: InferenceRequest;
  readonly #field: ModelField;
  readonly #contextLearned: RoutingDeps["contextLearned"];
  readonly #wallMs: RoutingDeps["wallMs"];
  /** index of the current target; only later targets are left */
  #place = 0;
  /** attempts refused for a budget or by a loading server, which the limit does not count */
  #uncounted = 0;
  #firstFailure: FirstFailure | undefined;
  /** The context of a participant was too small for the request: only a larger one may do. */
  #isTooLong = false;

  constructor(
    room: Room,
    request: InferenceRequest,
    { random, nowMs, wallMs, contextLearned }: RoutingDeps,
    permits: Permits = noDemand,
  ) {
    this.#field = readModelField(room, request.selector);
    this.selector = this.#field.targets[0];
    this.protocol = request.capability;
    this.random = random;
    this.nowMs = nowMs;
    this.prompt = request.prompt;
    this.form = request.beginsAsStream ? "stream" : "whole";
    this.#room = room;
    this.#request = request;
    this.#contextLearned = contextLearned;
    this.#wallMs = wallMs;
    this.isByAlias = this.#field.alias !== undefined;
    this.demand = new RequestDemand(request, permits);
  }

  /** undefined until an attempt has failed without ending the request */
  get firstFailure(): FirstFailure | undefined {
    return this.#firstFailure;
  }

  /** the pattern of the alias that the request matched on arrival; undefined when it matched none */
  get alias(): string | undefined {
    return this.#field.alias;
  }

  /**
   * Requests with the same key wait for the same participants.
   *
   * @param requestId - its key when it has no key in common with others
   */
  selectionKey(requestId: string): string {
    if (this.#firstFailure !== undefined || isTight(this.#room, this)) return requestId;
    if (this.only !== undefined) return `pinned ${this.only.key}`;
    const { selectionKey } = this.#request;
    const { uses, requires, models } = this.demand;
    const needs =
      uses === 0 && requires === 0 ? selectionKey : `${selectionKey} ${uses} ${requires}`;
    const permitted = models === undefined ? needs : `${needs} of ${JSON.stringify(models)}`;
    const key = this.#request.isBatch ? `batch ${permitted}` : permitted;
    // Requests that match the same alias may be at different targets.
    return this.#field.alias === undefined ? key : `${key} → ${selectorText(this.selector)}`;
  }

  select(): Selection {
    if (this.#request.isBatch) {
      this.spare = new SpareSlots(this.#room, this.nowMs, this.#wallMs);
      // It waits for any slot, never ahead of an interactive request.
      this.holdUntilMs = 0;
    }
    const selection = this.#selectFromHere();
    const hold = selection.kind === "busy" ? selection.hold : undefined;
    // Set once: the cost of waiting is estimated on arrival.
    this.holdUntilMs ??= hold?.untilMs;
    this.#noteHeld(hold?.participant);
    return selection;
  }

  /** Selects among all other participants; the request stays at its target. */
  #selectWithout(left: Participant): Selection {
    const { excluded } = this;
    const place = this.#place;
    this.excluded = [...excluded, left];
    const selection = this.#selectFromHere();
    this.excluded = excluded;
    this.#moveTo(place);
    return selection;
  }

  /** Selects at the current target, else at the first later one that can take the request. Contract §3, "Aliases". */
  #selectFromHere(): Selection {
    this.isStrict = this.#isTooLong;
    if (!this.isByAlias) return selectParticipant(this.#room, this);
    const queryFor = (target: Selector, isStrict: boolean): SelectionQuery => {
      this.selector = target;
      this.isStrict = isStrict || this.#isTooLong;
      return this;
    };
    const { place, selection } = selectTarget(this.#room, this.#field, this.#place, queryFor);
    this.#moveTo(place);
    return selection;
  }

  #moveTo(place: number): void {
    this.#place = place;
    this.selector = this.#field.targets[place] ?? this.#field.targets[0];
  }

  /** The participants that could serve it now, at capacity or not; none where it would be refused. */
  candidates(): readonly Participant[] {
    return candidatesFor(this.#room, this);
  }

  /** From now on the request takes any free participant. */
  endHold(): void {
    this.holdUntilMs = this.nowMs();
    this.held = undefined;
  }

  /** Later requests are behind it, and it does not wait for itself. */
  #noteHeld(participant: Participant | undefined): void {
    if (participant === undefined) this.held = undefined;
    else if (this.held?.participant !== participant) {
      this.held = { participant, ahead: participant.load.awaited };
    }
  }

  /** Whether its model server may cut the prompt without saying so. */
  mayTruncate(participant: Participant): boolean {
    return mayTruncate(participant, this.demand);
  }

  /** How many bytes of the prompt a participant is expected to compute. */
  coldBytesOf(participant: Participant): number {
    const { prompt } = this;
    const warm = this.#room.placing.warm.warmBytes(prompt, this.nowMs()).get(participant) ?? 0;
    return Math.max(0, prompt.bytes - warm);
  }

  /**
   * The participant computes the prompt now, and a session stays with it. Contract §3, "Conversations".
   */
  noteChosen(participant: Participant): void {
    if (this.only !== undefined) return;
    const { warm, sessions } = this.#room.placing;
    const nowMs = this.nowMs();
    warm.note(participant, this.prompt, nowMs);
    const { session } = this.prompt;
    if (session === undefined || this.selector.kind !== "any") return;
    const bound = sessions.find(session, nowMs);
    const isKept =
      bound !== undefined &&
      isPresent(this.#room, bound) &&
      (isRoutable(bound, this.nowMs) || isOverloaded(bound, this.nowMs)) &&
      !(bound.isStandIn && isLeftToOthers(this.#room, this)) &&
      this.#suits(bound);
    sessions.bind(session, isKept ? bound : participant, nowMs);
  }

  /** Whether a session stays there, also when this request failed there for another reason than its context. */
  #suits(bound: Participant): boolean {
    const query = withBar(this.#room, this);
    return canServe(bound, this.#isTooLong ? query : { ...query, excluded: none });
  }

  /** The error when no participant can serve the request: after a failed attempt, that failure. */
  refusal(refused: Extract<Selection, { kind: "refused" }>): HubError {
    if (this.#firstFailure !== undefined) return this.#firstFailure.error;
    const { code, message, hint, refusals, retryAfterMs } = refused;
    const refusal = new HubError(code, message, {
      hint,
      retryAfterMs,
      stage: "routing",
      param: "model",
      participants: refusals,
    });
    return this.only === undefined ? refusal : this.#request.refusalOf(this.only, refusal);
  }

  /**
   * Notes a failed attempt. Contract §3, "Retry".
   *
   * @param attempts - made so far, this one included
   * @returns whether another attempt may be made
   */
  mayTryAgain(attempt: Attempt, cause: FailureCause, attempts: number): boolean {
    const { participant } = attempt;
    if (cause === "budget") this.#uncounted++;
    const step = this.#stepAfter(attempt, cause, attempts);
    if (step === "elsewhere") this.excluded = [...this.excluded, participant];
    if (step === "again" && cause === 503) this.#uncounted++;
    return step !== "fail";
  }

  /** Whether this request may go elsewhere, and another participant is ready for it now. Changes nothing. */
  isAnotherReady(attempt: Attempt, cause: FailureCause, attempts: number): boolean {
    if (this.#stepAfter(attempt, cause, attempts) !== "elsewhere") return false;
    const selection = this.#selectWithout(attempt.participant);
    return (
      selection.kind === "selected" || (selection.kind === "busy" && selection.hold !== undefined)
    );
  }

  /**
   * A participant's context is too small for the request. Contract §3, "Retry".
   *
   * @returns whether it may go to a participant whose context is not known to be smaller, and there is one
   */
  noteContextRefusal(
    attempt: Attempt,
    attempts: number,
    { contextTokens, promptTokens }: ContextRefusal,
  ): boolean {
    const { participant } = attempt;
    this.#room.placing.warm.drop(participant, this.prompt);
    if (contextTokens !== undefined) {
      this.#contextLearned(participant, contextTokens);
      this.demand.floorTokens = Math.max(this.demand.floorTokens, contextTokens + 1);
    }
    this.#noteTokens(participant, promptTokens);
    if (this.#stepAfter(attempt, "context", attempts) !== "elsewhere") return false;
    const wasTooLong = this.#isTooLong;
    this.#isTooLong = true;
    const selection = this.#selectWithout(participant);
    this.#isTooLong = wasTooLong || selection.kind !== "refused";
    return selection.kind !== "refused";
  }

  /**
   * A participant has computed the whole prompt.
   *
   * @param tokens - of the prompt; undefined when they were not counted
   */
  noteRead(participant: Participant, tokens: number | undefined): void {
    if (tokens !== undefined) noteReadTokens(participant, tokens);
    this.#noteTokens(participant, tokens);
  }

  /** Of what the hub sees of a prompt: nothing of earlier turns that the server stores, or of pictures. */
  #noteTokens(participant: Participant, tokens: number | undefined): void {
    const { textBytes, prompt, previousResponseId } = this.#request;
    const isSeen = previousResponseId === undefined && textBytes === prompt.bytes;
    if (isSeen && tokens !== undefined) noteTokens(participant, textBytes, tokens);
  }

  #stepAfter(
    { participant, credentials }: Attempt,
    cause: FailureCause,
    attempts: number,
  ): NextStep {
    return nextStep({
      cause,
      attempts: attempts - this.#uncounted,
      participant,
      credentials,
      selector: this.selector,
      isLastTarget: this.#place === this.#field.targets.length - 1,
      isPinned: this.only !== undefined,
      isLoading: isLoading(participant),
    });
  }

  /** The provider's headers about when to retry, when `error` is the first failure. */
  hintsOf(error: HubError): HeaderMap | undefined {
    return error === this.#firstFailure?.error ? this.#firstFailure.hints : undefined;
  }

  noteFailure(failure: FirstFailure): void {
    // An agent that never read the tunnel has refused nothing yet.
    if (this.#firstFailure === undefined || this.#firstFailure.cause === "unread")
      this.#firstFailure = failure;
  }
}

/** What one request demands. A class, whose members V8 finds sooner than those of an object with a getter. */
class RequestDemand implements Demand {
  readonly outputTokens: number;
  readonly uses: number;
  readonly requires: number;
  readonly models: Demand["models"];
  readonly holder: Demand["holder"];
  /** more than the largest context that was too small for it; 0 before that was known of one */
  floorTokens = 0;
  readonly #request: InferenceRequest;

  constructor(request: InferenceRequest, { models, holder }: Permits) {
    this.outputTokens = request.outputTokens;
    this.uses = request.uses;
    this.requires = request.requires;
    this.models = models;
    this.holder = holder;
    this.#request = request;
  }

  get mostTokens(): number {
    return Math.max(this.floorTokens, this.#request.textBytes / mostBytesPerToken);
  }

  leastTokens(): number {
    return Math.max(this.floorTokens, this.#request.leastTokens());
  }
}
