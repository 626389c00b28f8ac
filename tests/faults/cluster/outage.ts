import type { CallOutcome } from "../client-call.ts";
import { must } from "../figure.ts";
import type { World } from "../world.ts";

/** A time in which the home of the room could not respond. On the shared clock. */
export interface Outage {
  /** where its own clients are */
  baseUrl: string;
  fromMs: number;
  /** what its own clients sent until then ran at it, or found nothing that listens */
  ownUntilMs: number;
  /** what other hubs got until then went to it */
  othersUntilMs: number;
}

/** Records that of the load nothing failed but what ran at a home that could not respond. */
export function recordFailures(
  world: World,
  what: string,
  load: readonly CallOutcome[],
  outages: readonly Outage[],
): void {
  const failed = load.filter(({ end }) => end !== "complete");
  const beyond = failed.filter((outcome) => !outages.some((outage) => ranAt(outage, outcome)));
  const [first] = beyond;
  world.fact(
    `${what}: requests that failed beyond those that ran at it, of ${load.length}`,
    ...(["0", String(beyond.length), first === undefined] as const),
  );
  must(first === undefined, `${first?.tag} ended ${first?.end} ${first?.code}`);
}

function ranAt(outage: Outage, { askedMs, endedMs, baseUrl }: CallOutcome): boolean {
  const isOwn = baseUrl === outage.baseUrl;
  const untilMs = isOwn ? outage.ownUntilMs : outage.othersUntilMs;
  return endedMs > outage.fromMs && askedMs < untilMs;
}
