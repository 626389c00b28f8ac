/**
 * What a hub tells another of the rooms that are watched at it. `revision` counts the changes: a notice that follows no
 * known one tells nothing.
 */
export type WatchNotice =
  /** all of them; every room when `rooms` is absent */
  | { readonly kind: "watches"; readonly revision: number; readonly rooms?: readonly string[] }
  | {
      readonly kind: "watch" | "unwatch";
      readonly revision: number;
      readonly roomCode: string;
    };

/** undefined for notices of another kind, and for what no hub of this version sends */
export function readWatchNotice(notice: object): WatchNotice | undefined {
  const { kind, revision, rooms, roomCode } = notice as Readonly<Record<string, unknown>>;
  if (typeof revision !== "number" || !Number.isSafeInteger(revision)) return undefined;
  if (kind === "watches") {
    if (rooms === undefined) return { kind, revision };
    return Array.isArray(rooms) && rooms.every(isCode) ? { kind, revision, rooms } : undefined;
  }
  if ((kind !== "watch" && kind !== "unwatch") || !isCode(roomCode)) return undefined;
  return { kind, revision, roomCode };
}

function isCode(value: unknown): value is string {
  return typeof value === "string";
}
