import { until } from "../../../support/waiting.ts";
import { must } from "../../figure.ts";
import type { Generation } from "../../programs/hashed-provider.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import type { World } from "../../world.ts";
import type { LaneCall } from "./lanes.ts";

/** One cut of one target, on the shared clock. */
export interface Cut {
  agents: readonly number[];
  cutMs: number;
  mendedMs: number;
  /** calls whose client left meanwhile */
  left: string[];
}

export interface CutPlan {
  /** names it in figures */
  id: string;
  agents: number;
  /** calls at a time, of each agent */
  lanes: number;
  /** cuts of all targets together */
  cuts: number;
  /** every cut ends the tunnel: what ran then must say that it was resumed */
  alwaysResumes: boolean;
}

/** What one run of cuts left behind. */
export interface Evidence {
  plan: CutPlan;
  seed: number;
  cuts: readonly Cut[];
  calls: readonly LaneCall[];
  generations: readonly Generation[];
}

/**
 * Compares what clients received with what the provider sent.
 *
 * @returns the requests that were resumed, as their `llm.complete` says
 */
export function mustBeWhole(world: World, evidence: Evidence): { resumed: number } {
  const { calls, generations } = evidence;
  const byTag = Map.groupBy(generations, ({ tag }) => tag);
  const completions = completionsOf(world);
  const problems = calls.flatMap((call) => {
    const { tag } = call.outcome;
    const said = byTag.get(tag) ?? [];
    const found = [
      ...(said.length > 1 ? [`the provider generated ${said.length} times`] : []),
      ...endProblems(call, evidence, said),
      ...resumeProblems(call, evidence, completions),
    ];
    return found.map((problem) => `${tag} at a${call.agent}: ${problem}`);
  });
  must(problems.length === 0, inWords(problems, calls.length));
  return { resumed: [...completions.values()].filter(({ resumes }) => resumes > 0).length };
}

function endProblems(
  call: LaneCall,
  { cuts }: Evidence,
  [generation]: readonly Generation[],
): string[] {
  const { end, code, problem, hashes } = call.outcome;
  if (problem !== undefined) return [problem];
  switch (end) {
    case "left":
      return generation?.isOpen === true ? ["the provider still works on it"] : [];
    case "complete":
      if (generation?.isComplete !== true) return ["complete here, but not at the provider"];
      return [
        ...(generation.request === hashes?.request ? [] : ["the provider got another request"]),
        ...(generation.response === hashes?.response ? [] : ["the bytes are not what was sent"]),
      ];
    case "error":
      return generation === undefined && wasAskedInGap(call, cuts) ? [] : [`error ${code}`];
    default:
      return [end];
  }
}

/** A request of that moment may find no participant; one that was on its way before must not. */
function wasAskedInGap({ agent, kind, outcome: { askedMs } }: LaneCall, cuts: readonly Cut[]) {
  // A large body is on its way to the hub for a while.
  const beforeMs = kind === "large" ? 1_000 : 50;
  return cuts.some(
    ({ agents, cutMs, mendedMs }) =>
      agents.includes(agent) && askedMs > cutMs - beforeMs && askedMs < mendedMs + 5_000,
  );
}

/** Of calls that surely ran through a cut: they began before it and had words left after it. */
function resumeProblems(
  { agent, kind, outcome: { end, requestId, firstPieceMs } }: LaneCall,
  { plan, cuts }: Evidence,
  completions: ReadonlyMap<string, Completion>,
): string[] {
  if (!plan.alwaysResumes || kind !== "steady" || end !== "complete") return [];
  const completion = completions.get(requestId ?? "");
  if (completion === undefined) return ["no llm.complete"];
  const met = cuts.filter(
    ({ agents, cutMs, mendedMs }) =>
      agents.includes(agent) &&
      (firstPieceMs ?? Number.POSITIVE_INFINITY) < cutMs &&
      completion.atMs > Math.max(mendedMs, cutMs + 250),
  );
  return met.length > 0 && completion.resumes === 0
    ? [`${met.length} cuts, but llm.complete has no resumes`]
    : [];
}

/** What `llm.complete` says of a request. */
interface Completion {
  resumes: number;
  /** on the shared clock; the client may read the end later */
  atMs: number;
}

/** By request id. */
/** A call's last event comes by another connection than its last byte, and may be behind it. */
export async function lastEvents(world: World, calls: readonly LaneCall[]): Promise<void> {
  const isHere = (completions: ReadonlyMap<string, Completion>) =>
    calls.every(({ outcome: { end, requestId } }) => {
      return end !== "complete" || completions.has(requestId ?? "");
    });
  // What is missing then is found by the comparison.
  await until("the last events", () => completionsOf(world), isHere).catch(() => undefined);
}

function completionsOf(world: World): Map<string, Completion> {
  const wallMinusShared = Date.now() - sharedNowMs();
  return new Map(
    world.events.of("llm.complete").map(({ data }) => {
      const atMs = Date.parse(data.timestamp) - wallMinusShared;
      return [String(data["requestId"]), { resumes: Number(data["resumes"] ?? 0), atMs }];
    }),
  );
}

function inWords(problems: readonly string[], calls: number): string {
  const kinds = new Map<string, number>();
  for (const problem of problems) {
    const kind = problem.slice(problem.indexOf(": ") + 2);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const counts = [...kinds].map(([kind, count]) => `${count} × ${kind}`).join(", ");
  return `${problems.length} problems of ${calls} calls: ${counts}; first: ${problems.slice(0, 3).join("; ")}`;
}
