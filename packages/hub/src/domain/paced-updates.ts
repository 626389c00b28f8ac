import type { Participant } from "./participant.ts";

const pauseMs = 5_000;

export interface PacedUpdatesRule {
  /** What an event shows of the participant, as one text that can be compared. */
  shownOf: (participant: Participant, nowMs: number) => string;
  /** the same of a participant of which nothing was announced */
  blank: string;
  /** Whether that becomes another text as time passes, without a note. */
  changesByTime: (participant: Participant, nowMs: number) => boolean;
}

/**
 * When a change is announced that may come often: at once, but at most once in 5 s per participant. A change that is
 * undone by then is not announced. Contract §5.
 */
export class PacedUpdates {
  readonly #rule: PacedUpdatesRule;
  readonly #announced = new WeakMap<Participant, { shown: string; atMs: number }>();
  readonly #changed = new Set<Participant>();

  constructor(rule: PacedUpdatesRule) {
    this.#rule = rule;
  }

  /** What is shown of it may be different now. */
  note(participant: Participant): void {
    this.#changed.add(participant);
  }

  /** An event shows it as it is. */
  noteAnnounced(participant: Participant, nowMs: number): void {
    const shown = this.#rule.shownOf(participant, nowMs);
    this.#announced.set(participant, { shown, atMs: nowMs });
  }

  /** Takes out those that are to be announced now; they count as announced. */
  takeDue(nowMs: number): Participant[] {
    const { shownOf, blank, changesByTime } = this.#rule;
    const due: Participant[] = [];
    for (const participant of this.#changed) {
      const before = this.#announced.get(participant);
      const isSame = shownOf(participant, nowMs) === (before?.shown ?? blank);
      if (!isSame && before !== undefined && nowMs - before.atMs < pauseMs) continue;
      if (!changesByTime(participant, nowMs)) this.#changed.delete(participant);
      if (isSame) continue;
      this.noteAnnounced(participant, nowMs);
      due.push(participant);
    }
    return due;
  }
}
