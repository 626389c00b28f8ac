import { PacedUpdates } from "../../domain/paced-updates.ts";
import type { Participant } from "../../domain/participant.ts";
import { isResting } from "../../domain/readiness.ts";

const noBudget = JSON.stringify([undefined, undefined, undefined, false]);

/**
 * Which changes of budgets are announced. Contract §5: a step of 10 % of the day's tokens, other limits, and whether the
 * participant refuses requests for its budget; at most one event in 5 s.
 */
export class BudgetUpdates {
  readonly #paced = new PacedUpdates({
    shownOf: shownBudget,
    blank: noBudget,
    changesByTime: (participant, nowMs) => isResting(participant, () => nowMs),
  });
  readonly #resting = new Set<Participant>();

  /** The budget of a participant, or its rest, is another one. */
  note(participant: Participant): void {
    this.#paced.note(participant);
    if (participant.restsUntilMs !== undefined) this.#resting.add(participant);
  }

  /** Takes out those whose rest is over, whether or not it was announced. */
  takeRested(nowMs: number): Participant[] {
    const rested = [...this.#resting].filter((one) => !isResting(one, () => nowMs));
    for (const participant of rested) this.#resting.delete(participant);
    return rested;
  }

  /** See {@link PacedUpdates.noteAnnounced}. */
  noteAnnounced(participant: Participant, nowMs: number): void {
    this.#paced.noteAnnounced(participant, nowMs);
  }

  /** See {@link PacedUpdates.takeDue}. */
  takeDue(nowMs: number): Participant[] {
    return this.#paced.takeDue(nowMs);
  }
}

function shownBudget(participant: Participant, nowMs: number): string {
  const { tokensPerDay, remainingTokens, requestsPerMinute } = participant.budget ?? {};
  const step =
    tokensPerDay === undefined || remainingTokens === undefined
      ? undefined
      : Math.ceil((10 * remainingTokens) / tokensPerDay);
  return JSON.stringify([
    tokensPerDay,
    requestsPerMinute,
    step,
    isResting(participant, () => nowMs),
  ]);
}
