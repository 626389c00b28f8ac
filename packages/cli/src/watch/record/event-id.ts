/**
 * Reads an event's id, `<bootId>-<n>`. `n` counts the events of a stream since the hub started. docs/reference/events.md
 *
 * @returns undefined for an id of any other form
 */
export function parseEventId(id: string): { bootId: string; n: number } | undefined {
  const [, bootId = "", digits = ""] = /^(.+)-(\d{1,15})$/.exec(id) ?? [];
  return bootId === "" ? undefined : { bootId, n: Number(digits) };
}

/** What lies between two ids of one stream. */
export type Step =
  | { kind: "next" }
  /** the event was received before */
  | { kind: "repeated" }
  | {
      kind: "gap";
      /** events that were not received; null when the hub has restarted, since it then counts from 1 again */
      missed: number | null;
    };

/** @param last - the id before; undefined at the beginning of a stream, which misses nothing */
export function stepBetween(last: string | undefined, id: string): Step {
  const before = last === undefined ? undefined : parseEventId(last);
  const now = parseEventId(id);
  if (before === undefined || now === undefined) return { kind: "next" };
  if (before.bootId !== now.bootId) return { kind: "gap", missed: null };
  if (now.n <= before.n) return { kind: "repeated" };
  return now.n === before.n + 1 ? { kind: "next" } : { kind: "gap", missed: now.n - before.n - 1 };
}
