import { createRandom } from "../faults/seeded-random.ts";
import { type Dice, draws } from "./draws.ts";
import {
  type Fault,
  type Length,
  lengths,
  loadFromMs,
  type Plan,
  type PlannedAgent,
  type PlannedChange,
  type PlannedRequest,
} from "./plan.ts";

/** The same seed gives the same plan. */
export function drawPlan(seed: number, length: Length = "long"): Plan {
  const bounds = lengths[length];
  const dice = createDice(seed);
  const { random, below, oneOf } = dice;
  const hubs = names("hub", random() < 0.5 ? 1 : 2 + below(2));
  const agents = names("agent", 1 + below(3)).map((name): PlannedAgent => ({
    name,
    model: oneOf(["tiny", "large"]),
    slots: 1 + below(3),
  }));
  const clients = names("client", 1 + below(3));
  const loadMs = bounds.loadMs[0] + below(bounds.loadMs[1]);
  const requests = Array.from(
    { length: bounds.requests[0] + below(bounds.requests[1]) },
    (_, index): PlannedRequest => {
      return {
        tag: `r${index}`,
        atMs: loadFromMs + below(loadMs),
        client: below(clients.length),
        hub: below(hubs.length),
        selector: oneOf([
          "*",
          oneOf(agents).model,
          oneOf(agents).name,
          `model:${oneOf(agents).model}`,
        ]),
        isStream: random() < 0.7,
        tokens: 1 + below(oneOf(bounds.tokens)),
        gapMs: below(oneOf([2, 50, 400])),
        tokenBytes: 0,
        promptBytes: 0,
        isForm: false,
        leavesAfterMs: random() < 0.15 ? below(bounds.leavesWithinMs) : undefined,
        isBatch: false,
        pauses: [],
      };
    },
  );
  const machines = [...hubs, ...agents.map(({ name }) => name)];
  const all = [...machines, ...clients];
  const faults = Array.from({ length: bounds.faults[0] + below(bounds.faults[1]) }, (): Fault => {
    const atMs = loadFromMs + below(loadMs);
    const forMs = below(oneOf(bounds.faultMs));
    const machine = oneOf(machines);
    const kinds: readonly Fault["kind"][] = [
      ...(["reset", "reset", "cut", "freeze", "kill", "stop", "slow network", "clock"] as const),
      ...(["model server", "model server"] as const),
      ...(hubs.length > 1 ? (["no directory"] as const) : []),
    ];
    const kind = oneOf(kinds);
    switch (kind) {
      case "reset":
        return { kind, atMs, machine: oneOf(all), nth: below(1_000) };
      case "cut":
        return { kind, atMs, one: machine, other: oneOf(all), forMs };
      case "kill":
        return { kind, atMs, machine, forMs, isPowerCut: false };
      case "freeze":
      case "stop":
        return { kind, atMs, machine, forMs };
      case "slow network":
        return { kind, atMs, mostMs: 1 + below(400), forMs };
      case "clock":
        return { kind, atMs, machine, byMs: below(7_200_000) - 3_600_000 };
      case "model server": {
        const moods = ["down", "overloaded", "loading", "breaks", "unauthorised"] as const;
        return { kind, atMs, machine: oneOf(agents).name, mood: oneOf(moods), forMs };
      }
      case "full disk":
      case "hop reset":
      case "broken dials":
      case "slow directory":
        throw new Error(`${kind} is drawn in draws.ts`);
      case "no directory":
        return { kind, atMs, machine: oneOf(hubs), forMs };
    }
  });
  for (const request of requests) if (random() < 0.1) request.tokenBytes = below(20_000);
  const changes = Array.from({ length: below(5) }, (_, index): PlannedChange => {
    const atMs = loadFromMs + below(loadMs);
    const kind = oneOf(["room", "alias"] as const);
    return { atMs, hub: below(hubs.length), kind, name: `${kind}-${index}` };
  });
  const draft = { hubs, agents, clients, requests, changes, faults, loadMs, bounds };
  for (const draw of draws) draw(draft, dice);
  const ends = faults.map((fault) => fault.atMs + ("forMs" in fault ? fault.forMs : 0));
  const healMs = Math.max(loadFromMs + loadMs, ...ends) + 1;
  return { seed, hubs, agents, clients, requests, changes, faults, healMs };
}

/** The same numbers for the same seed. */
function createDice(seed: number): Dice {
  const random = createRandom(seed * 2 + 1);
  const below = (bound: number) => Math.floor(random() * bound);
  return { random, below, oneOf: (items) => items[below(items.length)]! };
}

function names(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${kind}-${index + 1}`);
}
