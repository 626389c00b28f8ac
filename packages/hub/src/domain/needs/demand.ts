import { isSameModel } from "@roomhub/protocol";
import type { Level } from "./abilities.ts";
import type { Participant } from "../participant.ts";

/** What a request needs of the model that serves it, beside its surface. Contract §3, "What a request needs". */
export interface Demand extends Permits {
  /** No less than `leastTokens()`, without looking at the prompt. */
  readonly mostTokens: number;
  /** How many tokens its prompt has at least. */
  leastTokens(): number;
  /** its `max_tokens`; 0 for none */
  readonly outputTokens: number;
  /** the features that it uses, as bits */
  readonly uses: number;
  /** the features that its sender requires, as bits */
  readonly requires: number;
}

/** What limits the choice for a request, beside what it needs. Contract §9. */
export interface Permits {
  /** the models that its key permits; undefined for all */
  readonly models: readonly string[] | undefined;
  /** the name of its key, in lower case; undefined for a request that every participant serves */
  readonly holder: string | undefined;
}

/** Any model can serve it. */
export const noDemand: Demand = {
  mostTokens: 0,
  leastTokens: () => 0,
  outputTokens: 0,
  uses: 0,
  requires: 0,
  models: undefined,
  holder: undefined,
};

/** Whether the key of the request is for its model, too, and the participant serves the holder. Contract §9. */
export function isPermitted(
  { model, only }: Pick<Participant, "model" | "only">,
  { models, holder }: Permits,
): boolean {
  if (only !== undefined && holder !== undefined && !only.includes(holder)) return false;
  return models === undefined || models.some((one) => isSameModel(model, one));
}

/** What a candidate must have for one request at this moment: as much as one that can be reached has. */
export interface Bar {
  readonly tokens: number;
  /** of each feature that the request uses */
  readonly level: Level;
  /** It goes to participants that are known to have its surface. */
  readonly isKnown?: boolean | undefined;
}

/**
 * No text has fewer tokens than one for so many bytes, with its characters counted once: of those that repeat the one
 * before, and of the bytes of one character.
 */
export const mostBytesPerToken = 8;
