import type { Participant } from "../domain/participant.ts";

const pauseMs = 5_000;
/** No participant serves a longer one, and listings of the whole machine repeat it. */
const longestName = 256;

/**
 * When a change of the models that a server has loaded is announced: at once, but at most once in 5 s per participant.
 * Contract §5. A change that was undone by then is not announced.
 */
export class LoadedUpdates {
  readonly #announced = new WeakMap<Participant, { shown: string; atMs: number }>();
  readonly #reports = new WeakMap<Participant, string>();
  readonly #changed = new Set<Participant>();

  /**
   * A participant's agent, or the hub, reports what its server has loaded; undefined when the server does not say. That
   * holds for all participants of the machine. A report that repeats the one before may be older than another's, and
   * changes nothing.
   */
  report(participant: Participant, reported: readonly string[] | undefined): void {
    const models = reported?.filter((name) => name.length <= longestName);
    const report = JSON.stringify([models]);
    const isNews = report !== (this.#reports.get(participant) ?? nothingShown);
    const hasMoved = participant.loadedModels === undefined && models !== undefined;
    if (!isNews && !hasMoved) return;
    this.#reports.set(participant, report);
    for (const each of participant.machine?.members ?? [participant]) {
      each.loadedModels = models;
      this.#changed.add(each);
    }
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
