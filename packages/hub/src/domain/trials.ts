import type { Participant } from "./participant.ts";

/** Participants whose credentials were refused, and whose rooms are woken when one request may try them again. */
export class Trials {
  /** with the due time of the trial for which its room was woken */
  readonly #refused = new Map<Participant, number | undefined>();

  /** Its path may have changed. */
  note(participant: Participant): void {
    if (participant.credentials.trial === undefined) this.#refused.delete(participant);
    else if (!this.#refused.has(participant)) this.#refused.set(participant, undefined);
  }

  /** Each trial once. @param isCurrent - whether a participant is still registered */
  takeDue(nowMs: number, isCurrent: (participant: Participant) => boolean): Participant[] {
    const due: Participant[] = [];
    for (const [participant, wokenForMs] of this.#refused) {
      const { trial } = participant.credentials;
      if (trial === undefined || !isCurrent(participant)) this.#refused.delete(participant);
      else if (trial.dueMs <= nowMs && trial.dueMs !== wokenForMs) {
        this.#refused.set(participant, trial.dueMs);
        due.push(participant);
      }
    }
    return due;
  }
}
