import { isHubUnreachableError, RoomhubError } from "@roomhub/client";
import { ErrorBody } from "@roomhub/protocol";
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
/** Nobody was reached, so nobody has registered us. */
const neverSentCodes = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND"]);

/** `perhaps`: a join was sent and nobody answered it. */
export type Registered = "no" | "perhaps" | "yes";

/**
 * A failed join. The first one tells the person at the keyboard what is wrong; after a success the same answer may only
 * mean that the hub was restarted or that a proxy speaks in its place, so only a refused password or token stops us.
 * Contract §3: 401/403 → stop. An id that is taken may be taken by us, until the hub misses our signs of life.
 */
export function judgeJoin(error: unknown, registered: Registered): Verdict {
  const reason = lineOf(error);
  if (!(error instanceof RoomhubError)) return { event: { type: "failed" }, reason };
  const { status } = error;
  const isRefusal = isRefusedByHub(error);
  const isMistake = status < 500 && !passingStatuses.has(status);
  const isOurGhost = registered === "perhaps" && error.code === "participant_id_taken";
  if (isRefusal || (isMistake && registered !== "yes" && !isOurGhost)) return refusalBy(error);
  return { event: { type: "failed", retryAfterMs: error.retryAfterMs }, reason };
}

/** Whether a failed join may have registered us all the same. */
export function mayHaveJoined(error: unknown): boolean {
  if (!isHubUnreachableError(error)) return false;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && neverSentCodes.has(String(cause.code))) return false;
  }
  return true;
}

/** A failed heartbeat; undefined when it is a blip. */
export function judgeHeartbeat(error: unknown): Verdict | undefined {
  if (!(error instanceof RoomhubError)) return undefined;
  if (isRefusedByHub(error)) return refusalBy(error);
  if (error.status !== 404 || error.code === notAHub) return undefined;
  return { event: { type: "forgotten" }, reason: lineOf(error) };
}

/** What the hub, or somebody on the way to it, answered in place of a tunnel. */
export interface RefusedUpgrade {
  status: number;
  /** the header's value */
  retryAfter: string | undefined;
  body: string;
}

/** Contract §3: 404 → join again; 401/403 → stop, when it is the hub that says so: a proxy may refuse for a while. */
export function judgeUpgrade(host: string, { status, retryAfter, body }: RefusedUpgrade): Verdict {
  if (status === 404) {
    return { event: { type: "forgotten" }, reason: "the hub forgot this participant" };
  }
  const error = hubErrorIn(body);
  if ((status === 401 || status === 403) && error !== undefined) {
    return refusal({
      code: "participant_token_invalid",
      reason: `The hub at ${host} refused this participant's tunnel (${status}): its token is not valid any more.`,
      hint: "Join again.",
    });
  }
  const seconds = Number(retryAfter ?? 0);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
  const reason =
    error === undefined
      ? `the hub at ${host} answered ${status} to the tunnel`
      : withHint(error.message, error.hint);
  return { event: { type: "failed", retryAfterMs }, reason };
}

/** @returns undefined for the page of a proxy */
function hubErrorIn(body: string): ErrorBody["error"] | undefined {
  try {
    return ErrorBody.safeParse(JSON.parse(body)).data?.error;
  } catch {
    return undefined; // not even JSON
  }
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
  return withHint(error.message, error instanceof RoomhubError ? error.hint : undefined);
}

function withHint(message: string, hint: string | undefined): string {
  return hint === undefined ? message : `${message} (${hint})`;
}
