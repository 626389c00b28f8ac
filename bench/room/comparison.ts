import { figuresOf, type RoomFigures } from "./figures.ts";
import { HubPolicy } from "./hub-policy.ts";
import {
  joinOrder,
  oracle,
  type Policy,
  type PolicyName,
  randomFree,
  roundRobin,
} from "./policy.ts";
import { seededRandom } from "./random.ts";
import { type Scenario, simulate } from "./simulation.ts";
import { idealMs, type Variant } from "./variants.ts";

/** One run of a variant: the same machines and conversations for each policy. */
export interface Run {
  figures: Record<PolicyName, RoomFigures>;
  /** when no slot is ever idle; means something for a burst only */
  idealMs: number;
}

export interface VariantRuns {
  variant: Variant;
  runs: readonly Run[];
}

const policies: Record<PolicyName, (scenario: Scenario, variant: Variant, seed: number) => Policy> =
  {
    "join order": joinOrder,
    random: (_scenario, _variant, seed) => randomFree(seededRandom(seed)),
    "round robin": roundRobin,
    roomhub: ({ machines }, variant) =>
      new HubPolicy(
        machines.map(({ slots }) => slots),
        variant,
      ),
    oracle,
  };
export const policyNames = Object.keys(policies) as PolicyName[];

/** @param seeds - one run each */
export function runVariant(variant: Variant, seeds: readonly number[]): VariantRuns {
  return { variant, runs: seeds.map((seed) => runOnce(variant, seed)) };
}

function runOnce(variant: Variant, seed: number): Run {
  const scenario = variant.scenario(seededRandom(seed));
  const figures = policyNames.map((name) => {
    const policy = policies[name](scenario, variant, seed);
    return [name, figuresOf(simulate(scenario, policy))] as const;
  });
  return {
    figures: Object.fromEntries(figures) as Record<PolicyName, RoomFigures>,
    idealMs: idealMs(scenario),
  };
}
