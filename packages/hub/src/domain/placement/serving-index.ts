import { withoutLatest } from "@roomhub/protocol";
import type { Participant } from "../participant.ts";

const none: readonly Participant[] = [];

/**
 * The participants of a room by model, so that a request for a model looks only at participants that serve it. Built
 * when needed, and again after a change.
 */
export class ServingIndex {
  #byModel: Map<string, Participant[]> | undefined;

  /** A participant joined, left, or serves another model. */
  invalidate(): void {
    this.#byModel = undefined;
  }

  /** The participants that serve a model: the exact name first, then names that differ by a `:latest` tag. */
  serving(model: string, participants: Iterable<Participant>): readonly Participant[] {
    this.#byModel ??= byModel(participants);
    const all = this.#byModel.get(withoutLatest(model)) ?? none;
    return all.every((one) => one.model === model) ? all : exactFirst(all, model);
  }
}

function byModel(participants: Iterable<Participant>): Map<string, Participant[]> {
  const index = new Map<string, Participant[]>();
  for (const participant of participants) {
    const name = withoutLatest(participant.model);
    const known = index.get(name);
    if (known === undefined) index.set(name, [participant]);
    else known.push(participant);
  }
  return index;
}

/** Each in join order. */
export function exactFirst(serving: readonly Participant[], model: string): Participant[] {
  const exact = serving.filter((one) => one.model === model);
  return [...exact, ...serving.filter((one) => one.model !== model)];
}
