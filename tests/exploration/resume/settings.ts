import type { Setting } from "./tunnel-world.ts";

interface NamedSetting extends Setting {
  name: string;
}

const budget = { cuts: 0, dials: 0, expiries: 0, cancels: 0, moves: 0 };
/** The response needs credit in between. */
const script = { requests: 1, body: "ask", chunks: ["abc", "def"], windowBytes: 4 };
const short = { ...script, chunks: ["abc"] };
const setting: Setting = { budget, agents: 1, logBytes: 1_000_000, script };

export const quickSettings: NamedSetting[] = [
  { ...setting, name: "a cut", budget: { ...budget, cuts: 1 }, script: short },
  { ...setting, name: "a response that needs credit" },
  { ...setting, name: "a dial to the other hub", budget: { ...budget, moves: 1 }, script: short },
];

export const deepSettings: NamedSetting[] = [
  { ...setting, name: "a cut, in a response that needs credit", budget: { ...budget, cuts: 1 } },
  { ...setting, name: "a client that leaves", budget: { ...budget, cancels: 1 } },
  {
    ...setting,
    name: "a cut, and logs that are dropped",
    budget: { ...budget, cuts: 1 },
    script: short,
    logBytes: 10,
  },
  {
    ...setting,
    name: "a cut, and a session that its hub ends",
    budget: { ...budget, cuts: 1, expiries: 1 },
    script: short,
  },
  { ...setting, name: "two agents", agents: 2, script: short },
];

/** These take minutes. */
export const fullSettings: NamedSetting[] = [
  { ...setting, name: "two cuts", budget: { ...budget, cuts: 2 }, script: short },
  {
    ...setting,
    name: "a cut, and a client that leaves",
    budget: { ...budget, cuts: 1, cancels: 1 },
    script: short,
  },
  { ...setting, name: "two dials too many", budget: { ...budget, dials: 2 }, script: short },
];
