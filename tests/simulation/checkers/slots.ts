import type { History } from "../history.ts";

/** No model server runs more at once than its participant declared, as long as one process of its agent was there. */
export function slotsAreKept({ agents }: History): string[] {
  return agents.flatMap(({ id, slots, starts, server }) =>
    starts === 1 && server.mostAtOnce > slots
      ? [`${id} ran ${server.mostAtOnce} requests at once, of ${slots}`]
      : [],
  );
}
