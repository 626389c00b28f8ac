import type { Participant } from "../domain/participant.ts";
import { isLoading } from "../domain/readiness.ts";
import type { Room } from "../domain/room.ts";
import { parseSelector, type SelectionQuery, type Selector } from "../domain/selection-query.ts";
import { selectParticipant, type Selection } from "../domain/selector.ts";
import { HubError } from "../errors.ts";
import type { HeaderMap } from "./answer/answer.ts";
import type { InferenceRequest } from "./request/inference-request.ts";
import type { Attempt } from "./attempt.ts";
import { type FailureCause, nextStep } from "./retry.ts";

/** The failure a client gets when no other participant can serve its request. */
interface FirstFailure {
  participant: Participant;
  error: HubError;
  /** the provider's headers about when to retry */
  hints: HeaderMap;
}

const none: readonly Participant[] = [];

/**
 * Which participant serves one request, and which one after a failed attempt. It is its own query of the selection, so
 * that a request makes one object for all of its attempts.
 */
export class Routing implements SelectionQuery {
  readonly selector: Selector;
  readonly protocol: string;
  readonly random: () => number;
  readonly nowMs: () => number;
  excluded: readonly Participant[] = none;
  only: Participant | undefined;
  readonly #room: Room;
  readonly #asking: InferenceRequest;
  /** They were loading when they got the request; each may get it once more. */
  #waitedFor: readonly Participant[] = none;
  #firstFailure: FirstFailure | undefined;

  constructor(
    room: Room,
    asking: InferenceRequest,
    { random, nowMs }: Pick<SelectionQuery, "random" | "nowMs">,
  ) {
    this.selector = parseSelector(asking.selector);
    this.protocol = asking.capability;
    this.random = random;
    this.nowMs = nowMs;
    this.#room = room;
    this.#asking = asking;
  }

  /** undefined until an attempt failed that did not end the request */
  get firstFailure(): FirstFailure | undefined {
    return this.#firstFailure;
  }

  /**
   * Requests with the same key wait for the same participants.
   *
   * @param requestId - the key of one that has its own
   */
  selectionKey(requestId: string): string {
    if (this.#firstFailure !== undefined) return requestId;
    return this.only === undefined ? this.#asking.selectionKey : `pinned ${this.only.key}`;
  }

  select(): Selection {
    return selectParticipant(this.#room, this);
  }

  /** The error when no participant can serve the request: after a failed attempt, its failure. */
  refusal({ code, message, hint, refusals }: Extract<Selection, { kind: "refused" }>): HubError {
    if (this.#firstFailure !== undefined) return this.#firstFailure.error;
    const refusal = new HubError(code, message, {
      hint,
      stage: "routing",
      param: "model",
      participants: refusals,
    });
    return this.only === undefined ? refusal : this.#asking.refusalOf(this.only, refusal);
  }

  /**
   * Notes a failed attempt. Contract §3, "Retry".
   *
   * @param attempts - made so far, this one included
   * @returns whether another attempt may be made
   */
  mayTryAgain(attempt: Attempt, cause: FailureCause, attempts: number): boolean {
    const { participant, credentials } = attempt;
    const step = nextStep({
      cause,
      attempts,
      participant,
      credentials,
      selector: this.selector,
      isPinned: this.only !== undefined,
      isLoading: isLoading(participant),
      hasWaited: this.#waitedFor.includes(participant),
    });
    if (step === "elsewhere") this.excluded = [...this.excluded, participant];
    if (step === "again") this.#waitedFor = [...this.#waitedFor, participant];
    return step !== "fail";
  }

  /** What the provider said of when to come back, when `error` is the first failure. */
  hintsOf(error: HubError): HeaderMap | undefined {
    return error === this.#firstFailure?.error ? this.#firstFailure.hints : undefined;
  }

  noteFailure(failure: FirstFailure): void {
    this.#firstFailure ??= failure;
  }
}
