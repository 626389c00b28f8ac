import { escapeUnprintable, type HubEvent } from "@roomhub/protocol";

/** What lies between two recorded events. */
export interface Gap {
  /** id of the last event before it */
  from: string;
  /** id of the first event after it */
  to: string;
  /** events; null when the hub has restarted, since its count began anew */
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
