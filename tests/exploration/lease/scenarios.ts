import { type Budget, noBudget } from "./cluster.ts";

interface Scenario {
  name: string;
  budget: Budget;
}

export const quickScenarios: Scenario[] = [
  {
    name: "a hand-over, given up or not, and two agents that join",
    budget: { ...noBudget, handOvers: 1, timeouts: 1, joins: "ab" },
  },
  {
    name: "a death and an agent that joins",
    budget: { ...noBudget, crashes: 1, joins: "a" },
  },
  {
    name: "a takeover from a hub that was suspended",
    budget: { ...noBudget, suspicions: 1, suspensions: 1 },
  },
];

export const deepScenarios: Scenario[] = [
  {
    name: "a takeover from a hub that runs, a cut connection to the directory and an agent that joins",
    budget: { ...noBudget, suspicions: 1, cuts: 1, joins: "a" },
  },
  {
    name: "a hand-over and a death",
    budget: { ...noBudget, handOvers: 1, crashes: 1 },
  },
  {
    name: "a takeover from a hub that was suspended and an agent that joins",
    budget: { ...noBudget, suspicions: 1, suspensions: 1, joins: "a" },
  },
];

/** These take minutes. */
export const fullScenarios: Scenario[] = [
  {
    name: "a hand-over, a death and an agent that joins",
    budget: { ...noBudget, handOvers: 1, crashes: 1, joins: "a" },
  },
  {
    name: "a takeover from a hub that was suspended, a cut connection to the directory and an agent that joins",
    budget: { ...noBudget, suspicions: 1, suspensions: 1, cuts: 1, joins: "a" },
  },
  {
    name: "a hand-over, a takeover from a hub that runs and an agent that joins",
    budget: { ...noBudget, handOvers: 1, suspicions: 1, joins: "a" },
  },
];
