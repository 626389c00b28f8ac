/** The last event in a recording. */
export interface LastRecord {
  id: string;
  /** `2026-01-31`, as the event's time begins */
  day: string;
}

/** @param text - whole lines, of which the first may have lost its beginning */
export function lastRecordIn(text: string): LastRecord | undefined {
  let end = text.length;
  while (end > 0) {
    const start = text.lastIndexOf("\n", end - 2) + 1;
    const record = parse(text.slice(start, end));
    if (record !== "gap") return record;
    end = start;
  }
  return undefined;
}

function parse(line: string): LastRecord | "gap" | undefined {
  try {
    const value = JSON.parse(line) as { id?: unknown; time?: unknown; gap?: unknown } | null;
    if (typeof value?.gap === "object") return "gap";
    if (typeof value?.id !== "string" || typeof value.time !== "string") return undefined;
    return { id: value.id, day: value.time.slice(0, 10) };
  } catch {
    // Not a line of a recording.
    return undefined;
  }
}
