import { StreamTable } from "../../../packages/tunnel/src/streams/streams.ts";

/**
 * Neither changes what follows: memory that is written again, times and counts of pings, what was agreed once, the last head,
 * the test's own wiring.
 */
const ignored = new Set([
  ...["slab", "$$spares", "$$slabBytes", "$$isIdle", "$$messageStart", "$$end", "$$scheduled"],
  ...["$$sentBytes", "$$noticedTakenBytes", "$$noticedAcknowledged", "$$watch", "$$lossWatch"],
  ...["$$options", "$$owner", "$$port", "$$requestHeads", "$$hello", "$$timer", "$$slots"],
  ...["script", "request", "bufferedBytes", "$$world", "$$handlers", "$$remoteHello"],
]);

/** Everything that can be reached from here, as a text: the same for states from which the same follows. */
export function fingerprint(root: unknown): string {
  const numbers = new Map<object, number>();
  const parts: string[] = [];
  const write = (value: unknown): void => {
    if (typeof value === "function") return;
    if (typeof value !== "object" || value === null) return void parts.push(String(value));
    if (Buffer.isBuffer(value)) return void parts.push(value.toString("latin1"));
    const known = numbers.get(value);
    if (known !== undefined) return void parts.push(`@${known}`);
    numbers.set(value, numbers.size);
    parts.push("{");
    if ("lastId" in value && value instanceof StreamTable) value.values().forEach(write);
    if (isSentLog(value)) {
      parts.push(`${value.$$before} ${value.$$acknowledged}`);
      value.$$messages.slice(value.$$index).forEach(write);
    } else if (value instanceof Map) [...value].flat().forEach(write);
    else if (value instanceof Set || Array.isArray(value)) [...value].forEach(write);
    else
      for (const name in value) {
        if (ignored.has(name)) continue;
        parts.push(name);
        write((value as Record<string, unknown>)[name]);
      }
    parts.push("}");
  };
  write(root);
  return parts.join("\u0000");
}

interface SentLogFields {
  $$messages: Buffer[];
  $$index: number;
  $$before: number;
  $$acknowledged: number;
}

/** What it has dropped does not matter, nor where in its array the rest is. */
function isSentLog(value: object): value is SentLogFields {
  return "$$messages" in value && "$$before" in value;
}
