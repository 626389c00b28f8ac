import type { ParticipantSummary } from "@roomhub/protocol";
import { withEntry, withoutEntry } from "./immutable.ts";
import type { Running } from "./running-requests.ts";

/** By participant id: when its tunnel was interrupted, in epoch ms on the watcher's clock. */
export type LostConnections = ReadonlyMap<string, number>;

/** An interruption that has just ended. */
export interface Gap {
  ms: number;
  /** requests that still run there */
  streams: number;
}

/** @returns undefined when the participant's tunnel is not interrupted */
export function gapOf(
  { lost, running }: { lost: LostConnections; running: Running },
  id: string,
  nowMs: number,
): Gap | undefined {
  const sinceMs = lost.get(id);
  if (sinceMs === undefined) return undefined;
  let streams = 0;
  for (const request of running.values()) {
    if (request.kind !== "queued" && request.participantId === id) streams++;
  }
  return { ms: nowMs - sinceMs, streams };
}

/** The same map when nothing changes. */
export function noteConnection(
  lost: LostConnections,
  { id, connection: { resuming } }: ParticipantSummary,
  nowMs: number,
): LostConnections {
  if (resuming === undefined) return withoutEntry(lost, id);
  return lost.has(id) ? lost : withEntry(lost, id, nowMs - resuming.sinceMs);
}

/** @param streams - requests interrupted by it */
export function lostText(id: string, streams: number): string {
  return `${id}: connection lost, ${streams === 1 ? "1 stream" : `${streams} streams`} waiting`;
}

/**
 * @param afterMs - how long the connection was lost
 * @param streams - how many of the interrupted requests are still running
 */
export function backText(id: string, afterMs: number, streams: number): string {
  const back = `${id}: back after ${seconds(afterMs)}`;
  if (streams === 0) return back;
  return `${back}, ${streams === 1 ? "1 stream goes on" : `${streams} streams go on`}`;
}

export function notBackText(id: string, afterMs: number): string {
  return `${id}: not back after ${seconds(afterMs)}, its streams ended`;
}

function seconds(ms: number): string {
  return `${(Math.max(0, ms) / 1_000).toFixed(1)} s`;
}
