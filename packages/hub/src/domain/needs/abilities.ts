import type { Features } from "@roomhub/protocol";

/** How far a feature can be relied on: not at all, perhaps, mostly, or always. */
export type Level = 0 | 1 | 2 | 3;

/** By level, the features that a model has at least at that level, as bits. */
export type Abilities = readonly [number, number, number, number];

export const featureBits: Readonly<Record<keyof Features, number>> = {
  tools: 1,
  vision: 2,
  reasoning: 4,
  structuredOutput: 8,
  logprobs: 16,
};

/** The words of the header `x-roomhub-require`. */
const requirable: readonly (readonly [word: string, bit: number])[] = [
  ["tools", featureBits.tools],
  ["vision", featureBits.vision],
  ["reasoning", featureBits.reasoning],
  ["schema", featureBits.structuredOutput],
  ["logprobs", featureBits.logprobs],
];

/** @returns the word that none of {@link requirableWords} is, when there is one */
export function readRequired(header: string): { bits: number } | { unknownWord: string } {
  let bits = 0;
  for (const part of header.split(",")) {
    const word = part.trim().toLowerCase();
    const [, bit] = requirable.find(([name]) => name === word) ?? [];
    if (word !== "" && bit === undefined) return { unknownWord: word };
    bits |= bit ?? 0;
  }
  return { bits };
}

export const requirableWords: readonly string[] = requirable.map(([word]) => word);

/** @param bits - of features */
export function requiredWords(bits: number): string[] {
  return requirable.filter(([, bit]) => (bits & bit) !== 0).map(([word]) => word);
}

const levels: Readonly<Record<Features[keyof Features], Level>> = {
  unsupported: 0,
  ignored: 0,
  unknown: 1,
  "best-effort": 2,
  supported: 3,
  enforced: 3,
};

const all = -1;
export const everyAbility: Abilities = [all, all, all, all];
/** Nothing is known of the features. */
export const unknownAbilities: Abilities = [all, all, 0, 0];

/** What of the features can be relied on. */
export function abilitiesOf(features: Features): Abilities {
  const bitsFrom = (least: Level) => {
    const names = Object.keys(featureBits) as (keyof Features)[];
    const having = names.filter((name) => levels[features[name]] >= least);
    return having.reduce((bits, name) => bits | featureBits[name], 0);
  };
  return [all, bitsFrom(1), bitsFrom(2), bitsFrom(3)];
}

/** What both have. */
export function commonOf(one: Abilities, other: Abilities): Abilities {
  return [one[0] & other[0], one[1] & other[1], one[2] & other[2], one[3] & other[3]];
}
