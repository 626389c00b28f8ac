import type { Participant } from "./participant.ts";

/**
 * Participants whose credentials were refused or whose model servers are overloaded. Their rooms are woken when
 * requests may try them again.
 */
export class Trials {
  /** with the due time for which the room was woken */
  readonly #refused = new Map<Participant, number | undefined>();

  /** The participant's path or the load of its model server may have changed. */
  note(participant: Participant): void {
    if (dueMsOf(participant) === undefined) this.#refused.delete(participant);
    else if (!this.#refused.has(participant)) this.#refused.set(participant, undefined);
  }

  /** Takes each due trial once. @param isCurrent - whether a participant is still registered */
  takeDue(nowMs: number, isCurrent: (participant: Participant) => boolean): Participant[] {
    const due: Participant[] = [];
    for (const [participant, wokenForMs] of this.#refused) {
      const dueMs = dueMsOf(participant);
      if (dueMs === undefined || !isCurrent(participant)) this.#refused.delete(participant);
      else if (dueMs <= nowMs && dueMs !== wokenForMs) {
        this.#refused.set(participant, dueMs);
        due.push(participant);
      }
    }
    return due;
  }
}

function dueMsOf({ learned, load }: Participant): number | undefined {
  const { credentials } = learned;
  const { overloadedUntilMs } = load;
  return credentials.trial?.dueMs ?? overloadedUntilMs;
}
