import type { Participant } from "./participant.ts";
import { isResting } from "./readiness.ts";

const pauseMs = 5_000;

interface PacedUpdatesRule {
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
    const hasMoved = participant.learned.loadedModels === undefined && models !== undefined;
    if (!isNews && !hasMoved) return;
    this.#reports.set(participant, report);
    for (const each of participant.load.machine?.members ?? [participant]) {
      each.learned.loadedModels = models;
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

function shownOf({ learned: { loadedModels } }: Participant): string {
  return JSON.stringify([loadedModels]);
}

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
    if (participant.load.restsUntilMs !== undefined) this.#resting.add(participant);
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
  const { tokensPerDay, remainingTokens, requestsPerMinute } = participant.load.budget ?? {};
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
