import type { History } from "../history.ts";

/** What was written to a socket stays as it is until the system has read it: it may do so late. */
export function memoryStays({ network }: History): string[] {
  return network.changedMemory.map((what) => `${what} changed before they had left`);
}
