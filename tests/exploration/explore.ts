import { hash } from "node:crypto";

/** One thing that happens, and the state that follows. */
export interface Step<State> {
  name: string;
  /** What must not go on for ever: everything recovers without. */
  isFault: boolean;
  state: State;
}

export interface Machine<State> {
  initial: State;
  /** Everything that may happen in a state. */
  steps: (state: State) => Step<State>[];
  /** The same for states from which the same follows. */
  keyOf: (state: State) => string;
  /** What does not hold in it, in words. */
  problemOf: (state: State) => string | undefined;
  /** Everything is as it should be, and nothing is under way: from each state one of these can be reached without a fault. */
  isCalm: (state: State) => boolean;
}

export interface Exploration {
  states: number;
  transitions: number;
  /** of the state that is farthest from the initial one */
  depth: number;
  /** `trace`: the shortest way there */
  found: { problem: string; trace: string[] } | undefined;
}

/** Visits every state once, the nearest first, and ends at the first that does not hold. */
export function explore<State>(machine: Machine<State>, maxStates = 5_000_000): Exploration {
  const { steps, keyOf, problemOf, isCalm } = machine;
  const numbers = new Map<string, number>();
  const cameFrom: { before: number; name: string; depth: number }[] = [];
  /** by state: those that lead to it without a fault */
  const before: number[][] = [];
  const calm: number[] = [];
  let transitions = 0;

  const visit = (state: State, from: number, name: string): number | undefined => {
    const key = hash("sha1", keyOf(state), "base64").slice(0, 20);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    const number = numbers.size;
    numbers.set(key, number);
    cameFrom.push({ before: from, name, depth: (cameFrom[from]?.depth ?? -1) + 1 });
    before.push([]);
    if (isCalm(state)) calm.push(number);
    frontier.push({ state, number });
    return number;
  };
  const result = (problem?: string, at = 0): Exploration => ({
    states: numbers.size,
    transitions,
    depth: cameFrom.at(-1)?.depth ?? 0,
    found: problem === undefined ? undefined : { problem, trace: traceTo(cameFrom, at) },
  });

  let frontier: { state: State; number: number }[] = [];
  visit(machine.initial, -1, "");
  while (frontier.length > 0) {
    const layer = frontier;
    frontier = [];
    for (const { state, number } of layer) {
      const problem = problemOf(state);
      if (problem !== undefined) return result(problem, number);
      for (const step of steps(state)) {
        transitions += 1;
        const next = visit(step.state, number, step.name);
        if (!step.isFault && next !== undefined) before[next]?.push(number);
      }
      if (numbers.size > maxStates) throw new Error(`over ${maxStates} states`);
    }
  }
  const stuck = firstWithoutWay(before, calm);
  return stuck === undefined ? result() : result("nothing that follows recovers", stuck);
}

/** The nearest state from which no calm one can be reached without a fault. */
function firstWithoutWay(before: number[][], calm: number[]): number | undefined {
  const recovers = new Uint8Array(before.length);
  const open = [...calm];
  for (const number of open) recovers[number] = 1;
  for (let number = open.pop(); number !== undefined; number = open.pop()) {
    for (const earlier of before[number] ?? []) {
      if (recovers[earlier] === 1) continue;
      recovers[earlier] = 1;
      open.push(earlier);
    }
  }
  const stuck = recovers.indexOf(0);
  return stuck === -1 ? undefined : stuck;
}

function traceTo(cameFrom: { before: number; name: string }[], at: number): string[] {
  const trace: string[] = [];
  for (let number = at; number > 0; number = cameFrom[number]?.before ?? 0)
    trace.push(cameFrom[number]?.name ?? "");
  return trace.reverse();
}
