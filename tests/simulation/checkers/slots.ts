import type { History } from "../history.ts";

/**
 * No model server runs more at once than its participant declared, as long as one process of its agent was there. A hub that
 * is killed while it stops cannot say what still runs for it: the next home may give the slots of that to others until the
 * agent has found out. Contract §6.
 */
export function slotsAreKept(history: History): string[] {
  if (endsAtWork(history)) return [];
  return history.agents.flatMap(({ id, slots, starts, server }) =>
    starts === 1 && server.mostAtOnce > slots
      ? [`${id} ran ${server.mostAtOnce} requests at once, of ${slots}`]
      : [],
  );
}

/** A hub of several was killed in its stop, while a request was under way. */
function endsAtWork({ plan, outcomes }: History): boolean {
  const killedMs = plan.faults
    .filter((fault) => fault.kind === "stop")
    .filter(({ machine }) => plan.hubs.length > 1 && plan.hubs.includes(machine))
    .map(({ atMs, forMs }) => atMs + forMs);
  return outcomes.some(({ sentMs, endedMs = Number.POSITIVE_INFINITY }) =>
    killedMs.some((ms) => sentMs <= ms && ms <= endedMs),
  );
}
