import { RoomhubError } from "@roomhub/client";
import type { ConnectionEvent } from "./connection-chart.ts";
import type { StopReason } from "./notice.ts";

/** A call the hub did not grant, and what follows from it. */
export interface Verdict {
  event: ConnectionEvent;
  /** one line for a person */
  reason: string;
}

/** 4xx that only ask for patience. */
const passingStatuses = new Set([408, 425, 429]);

/**
 * A failed join. The first one tells the person at the keyboard what is wrong; after a success the same answer may only
 * mean that the hub was restarted or that a proxy speaks in its place, so only a refused password or token stops us.
 * Contract §3: 401/403 → stop.
 */
export function judgeJoin(error: unknown, hasJoinedBefore: boolean): Verdict {
  const reason = lineOf(error);
  if (!(error instanceof RoomhubError)) return { event: { type: "failed" }, reason };
  const { status } = error;
  const isRefusal = status === 401 || status === 403;
  const isMistake = status < 500 && !passingStatuses.has(status);
  if (isRefusal || (isMistake && !hasJoinedBefore)) return refusal(error.code, reason);
  return { event: { type: "failed", retryAfterMs: error.retryAfterMs }, reason };
}

/** A failed heartbeat; undefined when it is a blip. */
export function judgeHeartbeat(error: unknown): Verdict | undefined {
  if (!(error instanceof RoomhubError)) return undefined;
  const reason = lineOf(error);
  if (error.status === 401 || error.status === 403) return refusal(error.code, reason);
  if (error.status !== 404 || error.code === "invalid_response") return undefined;
  return { event: { type: "forgotten" }, reason };
}

export function refusal(code: string, reason: string): Verdict {
  const stop: StopReason = { code, reason };
  return { event: { type: "refused", stop }, reason };
}

function lineOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const hint = error instanceof RoomhubError && error.hint !== undefined ? ` (${error.hint})` : "";
  return `${error.message}${hint}`;
}
