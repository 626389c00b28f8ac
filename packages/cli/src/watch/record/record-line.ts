import {
  CompletePayload,
  escapeUnprintable,
  EVENT_NAMES,
  FailurePayload,
  type HubEvent,
  parseObject,
} from "@roomhub/protocol";

/** What one line of a recording says. */
export type RecordedLine =
  /** the end of a request */
  | { kind: "end"; event: HubEvent & { type: "llm.complete" | "llm.error" } }
  | { kind: "other"; time: string }
  | { kind: "gap"; missed: number | null }
  | { kind: "unreadable" };

// An older hub sends no client.
const complete = CompletePayload.partial({ client: true });
const failure = FailurePayload.partial({ client: true });
const names = new Set<unknown>(EVENT_NAMES);

/** @param line - of `roomhub record`, or of `roomhub events --json` */
export function parseRecordedLine(line: string): RecordedLine {
  const value = parseObject(line);
  if (value === undefined) return { kind: "unreadable" };
  const gap = value["gap"];
  if (typeof gap === "object" && gap !== null) {
    const { missed = null } = gap as { missed?: unknown };
    return { kind: "gap", missed: typeof missed === "number" && missed >= 0 ? missed : null };
  }
  const { name, time, payload } = "type" in value ? fromEvent(value) : value;
  if (!names.has(name) || typeof time !== "string" || Number.isNaN(Date.parse(time))) {
    return { kind: "unreadable" };
  }
  const at = { timestamp: time, roomCode: "" };
  if (name !== "llm.complete" && name !== "llm.error") return { kind: "other", time };
  const { data } = (name === "llm.complete" ? complete : failure).safeParse(payload);
  if (data === undefined) return { kind: "unreadable" };
  return { kind: "end", event: { ...at, ...data, type: name } as RecordedEnd };
}

type RecordedEnd = Extract<RecordedLine, { kind: "end" }>["event"];

function fromEvent({ type, timestamp, ...payload }: Record<string, unknown>) {
  return { name: type, time: timestamp, payload };
}

/** What lies between two recorded events. */
export interface Gap {
  /** id of the last event before it */
  from: string;
  /** id of the first event after it */
  to: string;
  /** events; null when the hub has restarted, since it then counts from 1 again */
  missed: number | null;
}

/** One event as a line: its id, name, time, and the rest of its data. */
export function eventRecord(id: string | undefined, event: HubEvent): string {
  const { type: name, timestamp: time, ...payload } = event;
  return lineOf({ id: id ?? null, name, time, payload });
}

export function gapRecord(gap: Gap): string {
  return lineOf({ gap });
}

/** Recordings are read on terminals, too. */
function lineOf(value: object): string {
  return `${escapeUnprintable(JSON.stringify(value))}\n`;
}
