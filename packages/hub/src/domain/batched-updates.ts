import type { Participant } from "./participant.ts";
import { isResting } from "./readiness.ts";

const pauseMs = 5_000;

interface BatchRule {
  /** What an event shows of the participant, as one text that can be compared. */
  shownOf: (participant: Participant, nowMs: number) => string;
  /** the text for a participant that was never announced */
  blank: string;
  /** Whether that text changes as time passes, without a note. */
  changesByTime: (participant: Participant, nowMs: number) => boolean;
}

/**
 * When frequent changes are announced: at once, but at most once in 5 s per participant. A change that is undone by then is
 * not announced. Contract §5.
 */
export class BatchedUpdates {
  readonly #rule: BatchRule;
  readonly #announced = new WeakMap<Participant, { shown: string; atMs: number }>();
  readonly #changed = new Set<Participant>();

  constructor(rule: BatchRule) {
    this.#rule = rule;
  }

  /** What events show of it may have changed. */
  note(participant: Participant): void {
    this.#changed.add(participant);
  }

  /** An event shows it as it is. */
  noteAnnounced(participant: Participant, nowMs: number): void {
    const shown = this.#rule.shownOf(participant, nowMs);
    this.#announced.set(participant, { shown, atMs: nowMs });
  }

  /** The participants to announce now; they count as announced. */
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

/** No participant serves a longer name, and listings of the whole machine repeat it. */
const longestName = 256;
const nothingShown = JSON.stringify([undefined]);

/** Which changes of the models that a server has loaded are announced. Contract §5. */
export class LoadedUpdates extends BatchedUpdates {
  readonly #reports = new WeakMap<Participant, string>();

  constructor() {
    const shownOf = ({ learned }: Participant) => JSON.stringify([learned.loadedModels]);
    super({ shownOf, blank: nothingShown, changesByTime: () => false });
  }

  /**
   * A participant's agent, or the hub, reports the loaded models; undefined when the server does not say. The report holds
   * for all participants of the machine. One that repeats the report before may be older than another participant's, and
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
      this.note(each);
    }
  }
}

/**
 * Which changes of budgets are announced. Contract §5: a step of 10 % of the day's tokens, other limits, and whether the
 * participant refuses requests for its budget.
 */
export class BudgetUpdates extends BatchedUpdates {
  readonly #resting = new Set<Participant>();

  constructor() {
    super({
      shownOf: shownBudget,
      blank: JSON.stringify([undefined, undefined, undefined, false]),
      changesByTime: (participant, nowMs) => isResting(participant, () => nowMs),
    });
  }

  override note(participant: Participant): void {
    super.note(participant);
    if (participant.load.restsUntilMs !== undefined) this.#resting.add(participant);
  }

  /** The participants whose rest is over, announced or not; each once. */
  takeRested(nowMs: number): Participant[] {
    const rested = [...this.#resting].filter((one) => !isResting(one, () => nowMs));
    for (const participant of rested) this.#resting.delete(participant);
    return rested;
  }
}

function shownBudget(participant: Participant, nowMs: number): string {
  const { budget = {} } = participant.load;
  const { tokensPerDay, batchTokensPerDay, requestsPerMinute } = budget;
  const isRefusing = isResting(participant, () => nowMs);
  const step = tenths(budget.remainingTokens, tokensPerDay);
  const shown = [tokensPerDay, requestsPerMinute, step, isRefusing];
  if (batchTokensPerDay === undefined) return JSON.stringify(shown);
  const batchStep = tenths(budget.remainingBatchTokens, batchTokensPerDay);
  return JSON.stringify([...shown, batchTokensPerDay, batchStep]);
}

function tenths(remaining: number | undefined, limit: number | undefined): number | undefined {
  if (limit === undefined || remaining === undefined) return undefined;
  return Math.ceil((10 * remaining) / limit);
}
