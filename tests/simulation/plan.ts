import { badResponses } from "../support/providers/bad-responses.ts";
import { createRandom } from "../faults/seeded-random.ts";

/** One request of a client, as the seed drew it. */
export interface PlannedRequest {
  tag: string;
  atMs: number;
  /** index of the client's machine */
  client: number;
  /** index of the hub that it dials */
  hub: number;
  selector: string;
  isStream: boolean;
  tokens: number;
  gapMs: number;
  /** of each token's text */
  tokenBytes: number;
  /** of the request's text, at least */
  promptBytes: number;
  /** The text is the file of a form, which comes in pieces. */
  isForm: boolean;
  /** the client leaves so long after it has sent the request; undefined: it stays */
  leavesAfterMs: number | undefined;
  /** It is of a batch: it has the last turn, and its client leaves after a while. */
  isBatch: boolean;
  /** in which its client reads nothing of the response, in their order */
  pauses: readonly PlannedPause[];
}

/** A time in which a client reads nothing. */
interface PlannedPause {
  /** it begins once the client has read so many */
  afterBytes: number;
  forMs: number;
}

/** An agent, and what its participant declares. */
export interface PlannedAgent {
  name: string;
  model: string;
  slots: number;
  budget?: { requestsPerMinute: number } | { tokensPerDay: number };
  /** of its model server, which refuses longer prompts; `isReported`: its list of models says so */
  context?: { tokens: number; isReported: boolean };
}

/** A change that a hub acknowledges: what it confirmed must be there ever after. */
export interface PlannedChange {
  atMs: number;
  /** index of the hub that it is sent to */
  hub: number;
  kind: "room" | "alias";
  /** of the room, or the pattern of the alias */
  name: string;
}

/** What goes wrong, when, and for how long. Machines are named as in {@link Plan}. */
export type Fault = { atMs: number } & (
  | { kind: "reset"; machine: string; nth: number }
  /** of all connections between two hubs */
  | { kind: "hop reset"; one: string; other: string }
  | { kind: "cut"; one: string; other: string; forMs: number }
  /** Its connections to other machines break, and within `mostMs` so does each that it dials meanwhile. */
  | { kind: "broken dials"; machine: string; mostMs: number; forMs: number }
  | { kind: "freeze"; machine: string; forMs: number }
  /** `isPowerCut`: what its disk has not synced is lost, too */
  | { kind: "kill"; machine: string; forMs: number; isPowerCut: boolean }
  | { kind: "stop"; machine: string; forMs: number }
  | { kind: "slow network"; mostMs: number; forMs: number }
  | { kind: "clock"; machine: string; byMs: number }
  | { kind: "model server"; machine: string; mood: Mood; forMs: number }
  | { kind: "no directory"; machine: string; forMs: number }
  /** It responds late, and some replies are lost: of what was to be written it is unknown whether it was. */
  | { kind: "slow directory"; machine: string; mostMs: number; lossRate: number; forMs: number }
  | { kind: "full disk"; machine: string; forMs: number }
);

/** What a model server does instead of serving. */
export type Mood = "down" | "overloaded" | "loading" | "breaks" | "unauthorised" | BadMood;

/** It sends what is no valid response. */
export interface BadMood {
  /** the name of one of {@link badResponses} */
  sends: string;
  /** also in place of the list of its models, by which its agent looks after it; else in place of generations alone */
  isEverywhere: boolean;
}

/** A history before it happens. The same seed gives the same plan. */
export interface Plan {
  seed: number;
  hubs: string[];
  agents: PlannedAgent[];
  clients: string[];
  requests: PlannedRequest[];
  changes: PlannedChange[];
  faults: Fault[];
  /** when the last fault has ended and everything may recover */
  healMs: number;
}

/** Begins after the room and its participants are there. */
const loadFromMs = 5_000;

/** How much happens in a history, and for how long. */
export type Length = keyof typeof lengths;

/** Bounds of what is drawn. */
const lengths = {
  long: {
    loadMs: [5_000, 40_000],
    requests: [5, 30],
    tokens: [3, 30, 200],
    leavesWithinMs: 8_000,
    faults: [0, 7],
    faultMs: [500, 5_000, 40_000],
  },
  /** A tenth of the work, and more faults in a second. */
  short: {
    loadMs: [2_000, 4_000],
    requests: [2, 7],
    tokens: [2, 6, 12],
    leavesWithinMs: 3_000,
    faults: [1, 5],
    faultMs: [200, 2_000, 12_000],
  },
} as const;

export function drawPlan(seed: number, length: Length = "long"): Plan {
  const bounds = lengths[length];
  const random = createRandom(seed * 2 + 1);
  const below = (bound: number) => Math.floor(random() * bound);
  const oneOf = <T>(items: readonly T[]): T => items[below(items.length)]!;
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
        throw new Error(`${kind} is drawn below`);
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
  for (const fault of faults) if (fault.kind === "kill") fault.isPowerCut = random() < 0.5;
  // Hubs of a cluster keep their rooms in the directory.
  if (hubs.length === 1 && random() < 0.2) {
    const [atMs, forMs] = [loadFromMs + below(loadMs), below(oneOf(bounds.faultMs))];
    faults.push({ kind: "full disk", atMs, machine: oneOf(hubs), forMs });
  }
  if (hubs.length > 1 && random() < 0.3) {
    const [atMs, forMs] = [loadFromMs + below(loadMs), below(oneOf(bounds.faultMs))];
    const [mostMs, lossRate] = [1 + below(oneOf([300, 3_000, 10_000])), oneOf([0, 0, 0.1, 0.5])];
    faults.push({ kind: "slow directory", atMs, machine: oneOf(hubs), mostMs, lossRate, forMs });
  }
  // One fault while a request is under way, and no other: what that may cost is known exactly.
  if (random() < 0.4) {
    const atMs = duringOneOf([oneOf(requests), oneOf(requests)], random());
    const [hub, agent] = [oneOf(hubs), oneOf(agents).name];
    const forMs = 1_000 + below(oneOf([3_000, bounds.faultMs[2], bounds.faultMs[2]]));
    const only: readonly Fault[] = [
      { kind: "cut", atMs, one: hub, other: agent, forMs },
      { kind: "freeze", atMs, machine: agent, forMs },
      { kind: "reset", atMs, machine: agent, nth: below(1_000) },
      { kind: "kill", atMs, machine: hub, forMs, isPowerCut: false },
      { kind: "kill", atMs, machine: hub, forMs, isPowerCut: false },
      { kind: "stop", atMs, machine: hub, forMs },
      { kind: "stop", atMs, machine: hub, forMs },
      { kind: "freeze", atMs, machine: hub, forMs },
      { kind: "model server", atMs, machine: agent, mood: "breaks", forMs },
    ];
    faults.splice(0, faults.length, oneOf(only));
  }
  // Two of a cluster, the second while others still clear up after the first.
  if (hubs.length > 1 && random() < 0.3) {
    const atMs = duringOneOf([oneOf(requests), oneOf(requests)], random());
    const forMs = below(oneOf([200, 2_000, 12_000]));
    const [one, other] = [below(hubs.length), 1 + below(hubs.length - 1)];
    const between = { atMs, one: hubs[one]!, other: hubs[(one + other) % hubs.length]! };
    const first: readonly Fault[] = [
      { kind: "hop reset", ...between },
      { kind: "cut", ...between, forMs },
      { kind: "freeze", atMs, machine: hubs[one]!, forMs },
    ];
    const afterwards = { atMs: atMs + below(10_000), machine: oneOf(hubs) };
    const second: readonly Fault[] = [
      { kind: "kill", ...afterwards, forMs: 1_000 + below(10_000), isPowerCut: false },
      { kind: "stop", ...afterwards, forMs: 1_000 + below(10_000) },
      { kind: "freeze", ...afterwards, forMs: 1_000 + below(15_000) },
    ];
    faults.splice(0, faults.length, oneOf(first), oneOf(second));
  }
  // A hub of a cluster ends, or is silent until it is replaced, under responses that last; others are sent afterwards.
  if (hubs.length > 1 && random() < 0.2) {
    const atMs = loadFromMs + 2_000;
    for (const [index, request] of requests.slice(0, 6).entries()) {
      request.atMs = index % 2 === 0 ? atMs - below(2_000) : atMs + below(15_000);
      [request.tokens, request.gapMs] = [10 + below(40), 400];
      request.leavesAfterMs = undefined;
    }
    const machine = oneOf(hubs);
    const only: readonly Fault[] = [
      { kind: "stop", atMs, machine, forMs: 1_000 + below(25_000) },
      { kind: "kill", atMs, machine, forMs: 1_000 + below(10_000), isPowerCut: false },
      { kind: "freeze", atMs, machine, forMs: 10_000 + below(15_000) },
    ];
    faults.splice(0, faults.length, oneOf(only));
  }
  // Agents whose dials fail at each of their stages, while requests wait for them at the next home of their room.
  if (random() < 0.15) {
    const atMs = loadFromMs + 500;
    const brokenDials = (name: string): Fault => {
      const mostMs = 4 + below(oneOf([4, 40]));
      return { kind: "broken dials", atMs, machine: name, mostMs, forMs: 1_000 + below(3_000) };
    };
    faults.splice(0, faults.length, ...agents.map(({ name }) => brokenDials(name)));
    if (hubs.length > 1) {
      faults.push({ kind: "stop", atMs, machine: oneOf(hubs), forMs: 4_000 + below(10_000) });
      for (const request of requests.slice(0, 6)) request.atMs = atMs + below(2_000);
    }
  }
  // A hub that is alone confirms a change, and its power is cut soon afterwards.
  if (hubs.length === 1 && random() < 0.15) {
    const [atMs, machine] = [loadFromMs + below(loadMs), hubs[0]!];
    const kind = oneOf(["room", "alias"] as const);
    changes.push({ atMs, hub: 0, kind, name: `${kind}-last` });
    const forMs = 500 + below(3_000);
    faults.push({ kind: "kill", atMs: atMs + below(400), machine, forMs, isPowerCut: true });
  }
  // One of several agents ends under responses that have not begun.
  if (agents.length > 1 && random() < 0.08) {
    const [atMs, { name: machine }] = [loadFromMs + 2_000, oneOf(agents)];
    for (const request of requests.slice(0, 6)) {
      request.atMs = atMs - below(1_500);
      [request.selector, request.isStream, request.leavesAfterMs] = ["*", false, undefined];
      [request.tokens, request.gapMs] = [10, 200 + below(300)];
    }
    const forMs = 500 + below(5_000);
    faults.splice(0, faults.length, { kind: "kill", atMs, machine, forMs, isPowerCut: false });
  }
  // An agent is cut off for longer than a tunnel waits, under responses that last.
  if (hubs.length === 1 && random() < 0.06) {
    const [atMs, { name: other }] = [loadFromMs + 2_000, oneOf(agents)];
    for (const request of requests.slice(0, 4)) {
      [request.atMs, request.selector, request.leavesAfterMs] = [
        atMs - below(1_500),
        other,
        undefined,
      ];
      [request.tokens, request.gapMs] = [10 + below(20), 400];
    }
    const forMs = 75_000;
    faults.splice(0, faults.length, { kind: "cut", atMs, one: hubs[0]!, other, forMs });
  }
  // A home is killed, and what its agents and clients send then arrives at the next one in any order.
  if (hubs.length > 1 && random() < 0.08) {
    const [atMs, killed] = [loadFromMs + 1_000 + below(10_000), below(hubs.length)];
    for (const request of requests.slice(0, 6)) {
      request.atMs = atMs - 500 + below(5_000);
      request.hub = (killed + 1) % hubs.length;
      request.leavesAfterMs = undefined;
      request.tokens = Math.min(request.tokens, 20);
    }
    faults.splice(0, faults.length, { kind: "slow network", atMs, mostMs: 400, forMs: 15_000 });
    const forMs = 15_000;
    faults.push({ kind: "kill", atMs, machine: hubs[killed]!, forMs, isPowerCut: false });
  }
  // Some requests are of batches, which wait for as long as the room is in use.
  if (random() < 0.3) {
    for (const request of requests) {
      if (random() < 0.6) continue;
      request.isBatch = true;
      request.leavesAfterMs ??= 2_000 + below(bounds.loadMs[1]);
    }
  }
  // Some requests are long: they are in the memory of each program on their way.
  if (random() < 0.3) {
    for (const request of requests) {
      if (random() < 0.5) request.promptBytes = below(oneOf([20_000, 200_000]));
    }
  }
  // Others are forms, which are sent on while they come.
  if (random() < 0.15) {
    for (const request of requests) {
      if (random() < 0.5) continue;
      [request.isForm, request.isStream] = [true, false];
      request.promptBytes = below(oneOf([20_000, 200_000, 2_000_000]));
    }
  }
  // Some agents have a budget, which is soon used up. Some start again meanwhile, and know what they have spent.
  if (random() > 0.88) {
    for (const agent of agents) {
      if (random() < 0.3) continue;
      const isOfRequests = random() < 0.5;
      agent.budget = isOfRequests
        ? { requestsPerMinute: 1 + below(4) }
        : { tokensPerDay: 1 + below(oneOf([20, 200])) };
    }
    for (const request of requests) {
      if (random() < 0.5) request.tokens = Math.min(request.tokens, 10);
    }
    const atMs = loadFromMs + below(loadMs);
    const again = { atMs, machine: oneOf(agents).name, forMs: 100 + below(2_000) };
    const forMs = 500 + below(2_000);
    const kinds: readonly (readonly Fault[])[] = [
      [],
      [{ kind: "kill", ...again, isPowerCut: false }],
      [{ kind: "stop", ...again }],
      [{ kind: "stop", atMs, machine: oneOf(hubs), forMs }],
    ];
    if (random() < 0.7) faults.splice(0, faults.length, ...oneOf(kinds));
  }
  // One client sends many at once, and another one a single request while they wait.
  if (clients.length > 1 && random() > 0.95) {
    const [{ name }, lone] = [oneOf(agents), below(clients.length)];
    for (const [index, request] of requests.entries()) {
      const isLone = index === 0;
      request.atMs = loadFromMs + (isLone ? 200 + below(500) : below(100));
      request.client = isLone ? lone : (lone + 1) % clients.length;
      [request.selector, request.leavesAfterMs] = [name, undefined];
      [request.isBatch, request.isForm] = [false, false];
      [request.tokens, request.gapMs] = [3 + below(5), 50 + below(50)];
    }
    faults.splice(0, faults.length);
  }
  // Model servers send what is no valid response, and nothing else is broken.
  // The number is one that no seed draws which a test names.
  if (below(8) === 5) {
    const badMood = (): Fault => {
      const [atMs, { name: machine }] = [loadFromMs + below(loadMs), oneOf(agents)];
      const mood = { sends: oneOf(badResponses).name, isEverywhere: random() < 0.25 };
      return { kind: "model server", atMs, machine, mood, forMs: 500 + below(loadMs) };
    };
    faults.splice(0, faults.length, ...Array.from({ length: 1 + below(6) }, badMood));
  }
  // Some model servers have small contexts, and some requests are too long for one or for all of them.
  // The number is chosen as the one before.
  if (agents.length > 1 && below(10) === 0) {
    for (const agent of agents) {
      if (random() < 0.3) continue;
      agent.context = { tokens: 60 + below(oneOf([300, 1_500])), isReported: random() < 0.6 };
    }
    for (const request of requests) {
      if (random() < 0.6) request.promptBytes = below(oneOf([5_000, 30_000, 100_000]));
    }
    if (random() < 0.7) faults.splice(0, faults.length);
  }
  // Clients read nothing for a while of streams that are larger than all buffers on their way, one of them for longer than
  // its hub allows. The number is chosen as those before.
  if (below(8) === 6) {
    const isUnbroken = random() < 0.7;
    if (isUnbroken) faults.splice(0, faults.length);
    const slow = requests.slice(0, 1 + below(2));
    for (const request of requests) {
      request.atMs = Math.max(request.atMs, loadFromMs + 500);
      request.tokens = Math.min(request.tokens, 20);
    }
    for (const [index, request] of slow.entries()) {
      request.atMs = loadFromMs + below(300);
      [request.isStream, request.isForm, request.isBatch] = [true, false, false];
      [request.tokens, request.tokenBytes, request.gapMs] = [50, 60_000 + below(5_000), below(10)];
      request.leavesAfterMs = undefined;
      const pause = (leastMs: number, moreMs: number) => {
        return { afterBytes: below(500_000), forMs: leastMs + below(moreMs) };
      };
      const isLong = isUnbroken && index === 0;
      const long = random() < 0.5 ? pause(65_000, 10_000) : pause(1_000, oneOf([20_000, 54_000]));
      const short = pause(200, 3_000);
      request.pauses = [isLong ? long : short, pause(200, 1_000)].toSorted(
        (one, other) => one.afterBytes - other.afterBytes,
      );
    }
  }
  const ends = faults.map((fault) => fault.atMs + ("forMs" in fault ? fault.forMs : 0));
  const healMs = Math.max(loadFromMs + loadMs, ...ends) + 1;
  return { seed, hubs, agents, clients, requests, changes, faults, healMs };
}

/** While the longest of them is under way. @param part - of its time, from 0 to 1 */
function duringOneOf(requests: readonly PlannedRequest[], part: number): number {
  const durationOf = ({ tokens, gapMs }: PlannedRequest) => tokens * gapMs;
  const longest = requests.reduce((one, other) =>
    durationOf(other) > durationOf(one) ? other : one,
  );
  return longest.atMs + Math.floor(part * (50 + durationOf(longest)));
}

function names(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${kind}-${index + 1}`);
}
