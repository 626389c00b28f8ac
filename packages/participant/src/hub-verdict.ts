import { RoomhubError } from "@roomhub/client";
import type { ConnectionEvent } from "./connection-chart.ts";
import type { StopReason } from "./notice.ts";

/** A call the hub did not grant, and what follows from it. */
export interface Verdict {
  event: ConnectionEvent;
  /** one line for a person */
  reason: string;
}

/** The client's code for an answer no hub gave: a proxy or a captive portal spoke in its place. */
const notAHub = "invalid_response";
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
  const isRefusal = isRefusedByHub(error);
  const isMistake = status < 500 && !passingStatuses.has(status);
  if (isRefusal || (isMistake && !hasJoinedBefore)) return refusalBy(error);
  return { event: { type: "failed", retryAfterMs: error.retryAfterMs }, reason };
}

/** A failed heartbeat; undefined when it is a blip. */
export function judgeHeartbeat(error: unknown): Verdict | undefined {
  if (!(error instanceof RoomhubError)) return undefined;
  if (isRefusedByHub(error)) return refusalBy(error);
  if (error.status !== 404 || error.code === notAHub) return undefined;
  return { event: { type: "forgotten" }, reason: lineOf(error) };
}

export function refusal(stop: StopReason): Verdict {
  return { event: { type: "refused", stop }, reason: stop.reason };
}

function refusalBy({ code, message, hint }: RoomhubError): Verdict {
  return refusal({ code, reason: message, hint });
}

function isRefusedByHub({ status, code }: RoomhubError): boolean {
  return (status === 401 || status === 403) && code !== notAHub;
}

/** An outage is told in one line, next step included. */
function lineOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const hint = error instanceof RoomhubError && error.hint !== undefined ? ` (${error.hint})` : "";
  return `${error.message}${hint}`;
}
