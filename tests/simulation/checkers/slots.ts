import type { History } from "../history.ts";

/**
 * No model server runs more at once than its participant declared, as long as one process of its agent was there. A home
 * that ends while it hands its room over cannot say what still runs for it. Contract §6.
 */
export function slotsAreKept({ plan, agents }: History): string[] {
  const endsInHandOver =
    plan.hubs.length > 1 &&
    plan.faults.some((fault) => fault.kind === "stop" && plan.hubs.includes(fault.machine));
  if (endsInHandOver) return [];
  return agents.flatMap(({ id, slots, starts, server }) =>
    starts === 1 && server.mostAtOnce > slots
      ? [`${id} ran ${server.mostAtOnce} requests at once, of ${slots}`]
      : [],
  );
}
