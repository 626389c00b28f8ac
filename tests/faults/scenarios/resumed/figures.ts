import { ledgerOf } from "../../../support/hub/ledger.ts";
import { inMib, inMs, mib, percentile } from "../../figure.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import type { World } from "../../world.ts";
import type { Cut, Evidence } from "./evidence.ts";
import type { LaneCall } from "./lanes.ts";

/** Open files of each process. */
export type OpenFiles = Record<string, number>;

/** A hub and an agent keep a few sockets for the next request. */
export const filesAllowed = 4;

/** Records how many calls met a cut, and how long their pause was. */
export function recordPauses(world: World, evidence: Evidence, resumed: number): void {
  const { plan, seed, cuts, calls } = evidence;
  const ends = Map.groupBy(calls, ({ outcome: { end, code } }) =>
    end === "error" ? `refused in a gap (${code})` : end,
  );
  const told = [...ends].map(([end, { length }]) => `${length} ${end}`).join(", ");
  world.fact(
    `${plan.id}: ${cuts.length} cuts under ${plan.agents * plan.lanes} calls at a time, seed ${seed}`,
    ...(["each whole, byte for byte", `${told}; ${resumed} resumed`, true] as const),
  );
  const pausesMs = calls.flatMap((call) => pausesOf(call, ownCuts(call, cuts)));
  const controlMs = calls.flatMap((call) => pausesOf(call, distantCuts(call, cuts)));
  if (pausesMs.length > 0) {
    const p95Ms = percentile(pausesMs, 0.95);
    const control = inMs(percentile(controlMs, 0.95));
    world.figure(
      `… network back → next byte, p95 of ${pausesMs.length} (streams of other agents: ${control})`,
      ...(["≤ 2 s", inMs(p95Ms), p95Ms <= 2_000] as const),
    );
  }
  const delaysMs = leavingDelays(world, evidence);
  if (delaysMs.length === 0) return;
  const longestMs = Math.max(...delaysMs);
  world.figure(
    `… a client leaves in the gap → llm.error, longest of ${delaysMs.length}`,
    ...(["≤ 500 ms", inMs(longestMs), longestMs <= 500] as const),
  );
}

/** What was already on its way to the client arrives within this time. */
const lateBytesMs = 500;

/**
 * The longest pause of a steady stream that began before or just after the network was back, counted from then: never less than
 * the time to the next byte, which may be one that waited in the hub.
 */
function pausesOf({ kind, outcome }: LaneCall, cuts: readonly Cut[]): number[] {
  if (kind !== "steady") return [];
  return cuts.flatMap(({ cutMs, mendedMs }) => {
    const nextCutMs = Math.min(...cuts.map((cut) => cut.cutMs).filter((ms) => ms > cutMs));
    const before = outcome.timesMs.findLast((atMs) => atMs < cutMs);
    const after = outcome.timesMs.filter((atMs) => atMs > cutMs && atMs < nextCutMs);
    // One that was cut again before it went on counts for that cut.
    if (before === undefined || !after.some((atMs) => atMs > mendedMs)) return [];
    const pausesMs = after.map((atMs, at) => {
      const sinceMs = after[at - 1] ?? before;
      return sinceMs < mendedMs + lateBytesMs ? atMs - Math.max(mendedMs, sinceMs) : 0;
    });
    return Math.max(...pausesMs);
  });
}

function ownCuts({ agent }: LaneCall, cuts: readonly Cut[]): Cut[] {
  return cuts.filter(({ agents }) => agents.includes(agent));
}

/** Those of other agents, at times when its own was not cut: what their streams show is the machine. */
function distantCuts(call: LaneCall, cuts: readonly Cut[]): Cut[] {
  const own = ownCuts(call, cuts);
  const isNear = (a: Cut, b: Cut) => a.cutMs < b.mendedMs + 5_000 && b.cutMs < a.mendedMs + 5_000;
  return cuts.filter((cut) => !own.some((other) => isNear(cut, other)));
}

/** How long each `llm.error` took after its client left during a cut. */
function leavingDelays(world: World, { cuts, calls }: Evidence): number[] {
  const wallMinusShared = Date.now() - sharedNowMs();
  const ends = new Map(ledgerOf(world.events).map((entry) => [entry.requestId, entry.ends[0]]));
  const leaving = new Set(cuts.flatMap(({ left }) => left));
  return calls.flatMap(({ outcome: { tag, requestId, leftMs } }) => {
    const end = ends.get(requestId ?? "");
    if (!leaving.has(tag) || end === undefined || leftMs === undefined) return [];
    return Date.parse(end.data.timestamp) - wallMinusShared - leftMs;
  });
}

/**
 * Nothing is kept to be sent again when nothing runs. What may remain is a young generation, which only now has its full size
 * of 32 MiB, and the 8 MiB of one session's messages that the allocator has not returned.
 */
const idleGrowthBytes = (32 + 8) * mib;

/** Records what is left when nothing runs any more. */
export function recordLeftovers(
  world: World,
  before: OpenFiles,
  after: OpenFiles,
  rss: readonly number[],
): void {
  const grown = Object.entries(after)
    .map(([name, files]) => [name, files - (before[name] ?? 0)] as const)
    .filter(([, files]) => files > filesAllowed);
  const told = grown.map(([name, files]) => `${name} ${files}`).join(", ");
  world.fact("… open files left", "none", told || "none", grown.length === 0);
  const [first, last] = [rss[0], rss.at(-1)];
  if (first === undefined || last === undefined || rss.length < 2) return;
  const bytes = last - first;
  world.figure(
    "… hub memory, second half of the cuts",
    ...([`≤ ${inMib(idleGrowthBytes)}`, inMib(bytes), bytes <= idleGrowthBytes] as const),
  );
}
