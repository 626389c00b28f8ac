import { PacedUpdates } from "../domain/paced-updates.ts";
import type { Participant } from "../domain/participant.ts";

/** No participant serves a longer one, and listings of the whole machine repeat it. */
const longestName = 256;
const nothingShown = JSON.stringify([undefined]);

/**
 * When a change of the models that a server has loaded is announced: at once, but at most once in 5 s per participant.
 * Contract §5. A change that was undone by then is not announced.
 */
export class LoadedUpdates {
  readonly #reports = new WeakMap<Participant, string>();
  readonly #paced = new PacedUpdates({
    shownOf,
    blank: nothingShown,
    changesByTime: () => false,
  });

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
      this.#paced.note(each);
    }
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

function shownOf({ loadedModels }: Participant): string {
  return JSON.stringify([loadedModels]);
}
