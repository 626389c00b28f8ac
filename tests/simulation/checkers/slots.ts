import type { History } from "../history.ts";

/** A home that was silent for so long is replaced. */
const silentMs = 10_000;

/**
 * No model server runs more at once than its participant declared, as long as one process of its agent was there. A hub that
 * is killed while it stops cannot say what still runs for it, and neither can one that is replaced because it is silent: the
 * next home may give the slots of that to others until it has ended. Contract §8, "Given up".
 */
export function slotsAreKept(history: History): string[] {
  if (isReplacedAtWork(history)) return [];
  return history.agents.flatMap(({ id, slots, starts, server }) =>
    starts === 1 && server.mostAtOnce > slots
      ? [`${id} ran ${server.mostAtOnce} requests at once, of ${slots}`]
      : [],
  );
}

/** A hub of several was killed in its stop, or silent, while a request was under way. */
function isReplacedAtWork({ plan, outcomes }: History): boolean {
  const sinceMs = plan.faults.flatMap((fault) => {
    if (plan.hubs.length === 1) return [];
    if (fault.kind === "stop" && plan.hubs.includes(fault.machine))
      return [fault.atMs + fault.forMs];
    const isSilent = fault.kind === "freeze" && plan.hubs.includes(fault.machine);
    return isSilent && fault.forMs > silentMs ? [fault.atMs + silentMs] : [];
  });
  return outcomes.some(({ sentMs, endedMs = Number.POSITIVE_INFINITY }) =>
    sinceMs.some((ms) => sentMs <= ms && ms <= endedMs),
  );
}
