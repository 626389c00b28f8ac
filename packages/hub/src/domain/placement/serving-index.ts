import { withoutLatest } from "@roomhub/protocol";
import { type Abilities, commonOf, everyAbility } from "../needs/abilities.ts";
import type { Participant } from "../participant.ts";

/** The participants that serve a model, and what they have in common. */
export interface Serving {
  /** by model: participants with exactly that name, then those whose name differs by a `:latest` tag; each in join order */
  readonly participants: readonly Participant[];
  /** the smallest of their contexts; infinite when none is known */
  readonly leastTokens: number;
  /** what all of them have */
  readonly abilities: Abilities;
}

const none: Serving = {
  participants: [],
  leastTokens: Number.POSITIVE_INFINITY,
  abilities: everyAbility,
};

/**
 * The participants of a room by model, so that a request for a model costs the same however many serve it. Built when
 * needed, and again after a change.
 */
export class ServingIndex {
  #byName: Map<string, Participant[]> | undefined;
  readonly #byModel = new Map<string, Serving>();
  #all: Serving | undefined;

  /** A participant joined, left, serves another model, or its model was found to be different. */
  invalidate(): void {
    this.#byName = undefined;
    this.#byModel.clear();
    this.#all = undefined;
  }

  /** All participants of the room, in join order. */
  all(participants: Iterable<Participant>): Serving {
    this.#all ??= servingOf([...participants]);
    return this.#all;
  }

  serving(model: string, participants: Iterable<Participant>): Serving {
    this.#byName ??= byName(participants);
    const known = this.#byModel.get(model);
    if (known !== undefined) return known;
    const all = this.#byName.get(withoutLatest(model));
    if (all === undefined) return none;
    const serving = servingOf(exactFirst(all, model));
    this.#byModel.set(model, serving);
    return serving;
  }
}

function byName(participants: Iterable<Participant>): Map<string, Participant[]> {
  const index = new Map<string, Participant[]>();
  for (const participant of participants) {
    const name = withoutLatest(participant.model);
    const known = index.get(name);
    if (known === undefined) index.set(name, [participant]);
    else known.push(participant);
  }
  return index;
}

export function servingOf(participants: readonly Participant[]): Serving {
  let { leastTokens, abilities } = none;
  for (const { learned } of participants) {
    leastTokens = Math.min(leastTokens, learned.usableTokens);
    abilities = commonOf(abilities, learned.abilities);
  }
  return { participants, leastTokens, abilities };
}

/** Each in join order. */
export function exactFirst(serving: readonly Participant[], model: string): Participant[] {
  const exact = serving.filter((one) => one.model === model);
  return [...exact, ...serving.filter((one) => one.model !== model)];
}
