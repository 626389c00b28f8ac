import type { Participant } from "../domain/participant.ts";

const pauseMs = 5_000;

/**
 * When a change of the models that a server has loaded is announced: at once, but at most once in 5 s per participant.
 * Contract §5. A change that was undone by then is not announced.
 */
export class LoadedUpdates {
  readonly #announced = new WeakMap<Participant, { shown: string; atMs: number }>();
  readonly #changed = new Set<Participant>();

  /** The loaded models of a participant may be others than before. */
  note(participant: Participant): void {
    this.#changed.add(participant);
  }

  /** An event shows its loaded models. */
  noteAnnounced(participant: Participant, nowMs: number): void {
    this.#announced.set(participant, { shown: shownOf(participant), atMs: nowMs });
  }

  /** Takes out those that are to be announced now. */
  takeDue(nowMs: number): Participant[] {
    const due: Participant[] = [];
    for (const participant of this.#changed) {
      const shown = shownOf(participant);
      const before = this.#announced.get(participant);
      const isSame = shown === (before?.shown ?? nothingShown);
      if (!isSame && before !== undefined && nowMs - before.atMs < pauseMs) continue;
      this.#changed.delete(participant);
      if (isSame) continue;
      this.noteAnnounced(participant, nowMs);
      due.push(participant);
    }
    return due;
  }
}

const nothingShown = JSON.stringify([undefined]);

function shownOf({ loadedModels }: Participant): string {
  return JSON.stringify([loadedModels]);
}
