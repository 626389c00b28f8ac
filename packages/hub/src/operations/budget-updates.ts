import type { Participant } from "../domain/participant.ts";
import { isResting } from "../domain/readiness.ts";

const pauseMs = 5_000;

/**
 * Which changes of budgets are announced. Contract §5: a step of 10 % of the day's tokens, other limits, and whether the
 * participant refuses requests for its budget; at most one event in 5 s.
 */
export class BudgetUpdates {
  readonly #announced = new WeakMap<Participant, { shown: string; atMs: number }>();
  /** something changed since, or will when the rest is over */
  readonly #changed = new Set<Participant>();
  readonly #resting = new Set<Participant>();

  /** The budget of a participant, or its rest, is another one. */
  note(participant: Participant): void {
    this.#changed.add(participant);
    if (participant.restsUntilMs !== undefined) this.#resting.add(participant);
  }

  /** Takes out those whose rest is over, whether or not it was announced. */
  takeRested(nowMs: number): Participant[] {
    const rested = [...this.#resting].filter((one) => !isResting(one, () => nowMs));
    for (const participant of rested) this.#resting.delete(participant);
    return rested;
  }

  /** What an event shows of it. */
  noteAnnounced(participant: Participant, nowMs: number): void {
    this.#announced.set(participant, { shown: shownBudget(participant, nowMs), atMs: nowMs });
  }

  /** Takes out those that are to be announced now. */
  takeDue(nowMs: number): Participant[] {
    const due: Participant[] = [];
    for (const participant of this.#changed) {
      const shown = shownBudget(participant, nowMs);
      const before = this.#announced.get(participant);
      const isSame = shown === (before?.shown ?? noBudget);
      if (!isSame && nowMs - (before?.atMs ?? -Infinity) < pauseMs) continue;
      if (!isResting(participant, () => nowMs)) this.#changed.delete(participant);
      if (!isSame) due.push(participant);
    }
    return due;
  }
}

const noBudget = JSON.stringify([undefined, undefined, undefined, false]);

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
