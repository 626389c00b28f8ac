import { badResponses } from "../support/providers/bad-responses.ts";
import {
  type Fault,
  type Length,
  type lengths,
  loadFromMs,
  type Plan,
  type PlannedRequest,
} from "./plan.ts";

/** What a seed decides with. */
export interface Dice {
  /** in `[0, 1)` */
  random: () => number;
  /** a whole number, from 0 */
  below: (bound: number) => number;
  oneOf: <T>(items: readonly T[]) => T;
}

/** A plan that is being drawn. */
interface Draft extends Omit<Plan, "seed" | "healMs"> {
  /** how long requests are sent */
  loadMs: number;
  bounds: (typeof lengths)[Length];
}

/** Changes some plans. Most arrange what random faults seldom meet. */
type Draw = (draft: Draft, dice: Dice) => void;

/** In this order; a new one is the last, or every seed gets another plan. */
export const draws: readonly Draw[] = [
  powerIsCut,
  diskIsFull,
  directoryIsSlow,
  oneFault,
  twoOfCluster,
  hubEndsUnderResponses,
  dialsFail,
  powerIsCutAfterChange,
  agentEndsBeforeResponses,
  agentIsCutOffForLong,
  homeIsKilledInSlowNetwork,
  someAreOfBatches,
  someAreLong,
  someAreForms,
  budgetsAreSmall,
  oneSendsMany,
  responsesAreBad,
  contextsAreSmall,
  clientsReadSlowly,
];

/** Some of what is killed loses its power. */
function powerIsCut({ faults }: Draft, { random }: Dice): void {
  for (const fault of faults) if (fault.kind === "kill") fault.isPowerCut = random() < 0.5;
}

/** The disk of a hub is full; hubs of a cluster keep their rooms in the directory. */
function diskIsFull({ hubs, faults, loadMs, bounds }: Draft, { random, below, oneOf }: Dice): void {
  if (hubs.length !== 1 || random() >= 0.2) return;
  const [atMs, forMs] = [loadFromMs + below(loadMs), below(oneOf(bounds.faultMs))];
  faults.push({ kind: "full disk", atMs, machine: oneOf(hubs), forMs });
}

/** A hub of a cluster has a slow connection to the directory. */
function directoryIsSlow(
  { hubs, faults, loadMs, bounds }: Draft,
  { random, below, oneOf }: Dice,
): void {
  if (hubs.length < 2 || random() >= 0.3) return;
  const [atMs, forMs] = [loadFromMs + below(loadMs), below(oneOf(bounds.faultMs))];
  const [mostMs, lossRate] = [1 + below(oneOf([300, 3_000, 10_000])), oneOf([0, 0, 0.1, 0.5])];
  faults.push({ kind: "slow directory", atMs, machine: oneOf(hubs), mostMs, lossRate, forMs });
}

/** One fault while a request is under way, and no other: what that may cost is known exactly. */
function oneFault(
  { hubs, agents, requests, faults, bounds }: Draft,
  { random, below, oneOf }: Dice,
): void {
  if (random() >= 0.4) return;
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

/** Two of a cluster, the second while others still clear up after the first. */
function twoOfCluster({ hubs, requests, faults }: Draft, { random, below, oneOf }: Dice): void {
  if (hubs.length < 2 || random() >= 0.3) return;
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

/** A hub of a cluster ends, or is silent until it is replaced, under responses that last; others are sent afterwards. */
function hubEndsUnderResponses(
  { hubs, requests, faults }: Draft,
  { random, below, oneOf }: Dice,
): void {
  if (hubs.length < 2 || random() >= 0.2) return;
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

/** Agents whose dials fail at each of their stages, while requests wait for them at the next home of their room. */
function dialsFail(
  { hubs, agents, requests, faults }: Draft,
  { random, below, oneOf }: Dice,
): void {
  if (random() >= 0.15) return;
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

/** A hub that is alone confirms a change, and its power is cut soon afterwards. */
function powerIsCutAfterChange(
  { hubs, changes, faults, loadMs }: Draft,
  { random, below, oneOf }: Dice,
): void {
  if (hubs.length !== 1 || random() >= 0.15) return;
  const [atMs, machine] = [loadFromMs + below(loadMs), hubs[0]!];
  const kind = oneOf(["room", "alias"] as const);
  changes.push({ atMs, hub: 0, kind, name: `${kind}-last` });
  const forMs = 500 + below(3_000);
  faults.push({ kind: "kill", atMs: atMs + below(400), machine, forMs, isPowerCut: true });
}

/** One of several agents ends under responses that have not begun. */
function agentEndsBeforeResponses(
  { agents, requests, faults }: Draft,
  { random, below, oneOf }: Dice,
): void {
  if (agents.length < 2 || random() >= 0.08) return;
  const [atMs, { name: machine }] = [loadFromMs + 2_000, oneOf(agents)];
  for (const request of requests.slice(0, 6)) {
    request.atMs = atMs - below(1_500);
    [request.selector, request.isStream, request.leavesAfterMs] = ["*", false, undefined];
    [request.tokens, request.gapMs] = [10, 200 + below(300)];
  }
  const forMs = 500 + below(5_000);
  faults.splice(0, faults.length, { kind: "kill", atMs, machine, forMs, isPowerCut: false });
}

/** An agent is cut off for longer than a tunnel waits, under responses that last. */
function agentIsCutOffForLong(
  { hubs, agents, requests, faults }: Draft,
  { random, below, oneOf }: Dice,
): void {
  if (hubs.length !== 1 || random() >= 0.06) return;
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

/** A home is killed, and what its agents and clients send then arrives at the next one in any order. */
function homeIsKilledInSlowNetwork(
  { hubs, requests, faults }: Draft,
  { random, below }: Dice,
): void {
  if (hubs.length < 2 || random() >= 0.08) return;
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

/** Some requests are of batches, which wait for as long as the room is in use. */
function someAreOfBatches({ requests, bounds }: Draft, { random, below }: Dice): void {
  if (random() >= 0.3) return;
  for (const request of requests) {
    if (random() < 0.6) continue;
    request.isBatch = true;
    request.leavesAfterMs ??= 2_000 + below(bounds.loadMs[1]);
  }
}

/** Some requests are long: they are in the memory of each program on their way. */
function someAreLong({ requests }: Draft, { random, below, oneOf }: Dice): void {
  if (random() >= 0.3) return;
  for (const request of requests) {
    if (random() < 0.5) request.promptBytes = below(oneOf([20_000, 200_000]));
  }
}

/** Others are forms, which are sent on while they come. */
function someAreForms({ requests }: Draft, { random, below, oneOf }: Dice): void {
  if (random() >= 0.15) return;
  for (const request of requests) {
    if (random() < 0.5) continue;
    [request.isForm, request.isStream] = [true, false];
    request.promptBytes = below(oneOf([20_000, 200_000, 2_000_000]));
  }
}

/** Some agents have a budget, which is soon used up. Some start again meanwhile, and know what they have spent. */
function budgetsAreSmall(
  { hubs, agents, requests, faults, loadMs }: Draft,
  { random, below, oneOf }: Dice,
): void {
  if (random() <= 0.88) return;
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

/** One client sends many at once, and another one a single request while they wait. */
function oneSendsMany(
  { agents, clients, requests, faults }: Draft,
  { random, below, oneOf }: Dice,
): void {
  if (clients.length < 2 || random() <= 0.95) return;
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

/** Model servers send what is no valid response, and nothing else is broken. */
function responsesAreBad({ agents, faults, loadMs }: Draft, { random, below, oneOf }: Dice): void {
  // The number is one that no seed draws which a test names.
  if (below(8) !== 5) return;
  const badMood = (): Fault => {
    const [atMs, { name: machine }] = [loadFromMs + below(loadMs), oneOf(agents)];
    const mood = { sends: oneOf(badResponses).name, isEverywhere: random() < 0.25 };
    return { kind: "model server", atMs, machine, mood, forMs: 500 + below(loadMs) };
  };
  faults.splice(0, faults.length, ...Array.from({ length: 1 + below(6) }, badMood));
}

/** Some model servers have small contexts, and some requests are too long for one or for all of them. */
function contextsAreSmall(
  { agents, requests, faults }: Draft,
  { random, below, oneOf }: Dice,
): void {
  // The number is chosen as the one before.
  if (agents.length < 2 || below(10) !== 0) return;
  for (const agent of agents) {
    if (random() < 0.3) continue;
    agent.context = { tokens: 60 + below(oneOf([300, 1_500])), isReported: random() < 0.6 };
  }
  for (const request of requests) {
    if (random() < 0.6) request.promptBytes = below(oneOf([5_000, 30_000, 100_000]));
  }
  if (random() < 0.7) faults.splice(0, faults.length);
}

/**
 * Clients read nothing for a while of streams that are larger than all buffers on their way, one of them for longer than
 * its hub allows.
 */
function clientsReadSlowly({ requests, faults }: Draft, { random, below, oneOf }: Dice): void {
  // The number is chosen as those before.
  if (below(8) !== 6) return;
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

/** While the longest of them is under way. @param part - of its time, from 0 to 1 */
function duringOneOf(requests: readonly PlannedRequest[], part: number): number {
  const durationOf = ({ tokens, gapMs }: PlannedRequest) => tokens * gapMs;
  const longest = requests.reduce((one, other) =>
    durationOf(other) > durationOf(one) ? other : one,
  );
  return longest.atMs + Math.floor(part * (50 + durationOf(longest)));
}
