import { isHubUnreachableError, RoomhubError } from "@roomhub/client";
import { ErrorBody, JoinResponse, parseJson, ParticipantSummary } from "@roomhub/protocol";
import { CLOSE_CODES } from "@roomhub/tunnel";
import type { ConnectionEvent } from "./connection-chart.ts";
import type { StopReason } from "../notice.ts";

/** What a failed call to the hub means for the connection. */
export interface Verdict {
  event: ConnectionEvent;
  /** Nothing listens at the hub's address: the hub, or the proxy in front of it, has ended. */
  isRefused?: boolean;
  /** one line for display */
  reason: string;
}

/** The SDK's code for a response that is not from a hub, such as that of a proxy or captive portal. */
const notAHub = "invalid_response";
/** 4xx that a later retry may cure. */
const passingStatuses = new Set([408, 425, 429]);
/** No server was reached, so the participant is not registered. */
const neverSentCodes = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND"]);

/** `perhaps`: a join was sent and got no response. */
export type Registered = "no" | "perhaps" | "yes";

const agentResponse = JoinResponse.pick({
  tunnel: true,
  participantToken: true,
  clientKey: true,
  warnings: true,
  hubs: true,
  homeEpoch: true,
}).extend({
  // For display only: a hub may list participants in another way.
  participant: ParticipantSummary.pick({ load: true }).optional().catch(undefined),
});

/**
 * What an agent needs of the hub's response to its join.
 *
 * @param proof - the token that it joined with, which stays
 * @throws Error when the response lacks it: it is from something else
 */
export function readJoin(response: unknown, proof: string | undefined) {
  const { data } = agentResponse.safeParse(response);
  const participantToken = data?.participantToken ?? proof;
  if (data !== undefined && participantToken !== undefined) return { ...data, participantToken };
  throw new Error("the hub's response to the join has no tunnel URL or no token");
}

/**
 * Judges a failed join. Before the first success, a client error is a mistake of the user and stops the participant; later
 * the same response may come from a restarted hub or a proxy, so only a refused password or token stops it, and a room
 * that was deleted.
 * Contract §3: 401/403 → stop. A taken id may be taken by this participant's own earlier join, until that expires.
 */
export function judgeJoin(error: unknown, registered: Registered): Verdict {
  const reason = lineOf(error);
  if (error instanceof StaleHomeError) return stale(reason);
  if (!(error instanceof RoomhubError)) return { event: { type: "failed" }, reason };
  const { status } = error;
  const isRefusal = isRefusedByHub(error) || isDeletedRoom(error);
  const isMistake = status < 500 && !passingStatuses.has(status);
  const isOurGhost = registered === "perhaps" && error.code === "participant_id_taken";
  if (isRefusal || (isMistake && registered !== "yes" && !isOurGhost)) return refusalBy(error);
  return { event: { type: "failed", retryAfterMs: error.retryAfterMs }, reason };
}

/** Whether a failed join may have registered the participant. */
export function mayHaveJoined(error: unknown): boolean {
  if (!isHubUnreachableError(error)) return false;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && neverSentCodes.has(String(cause.code))) return false;
  }
  return true;
}

/** Judges a failed heartbeat; undefined when it has no consequence. */
export function judgeHeartbeat(error: unknown): Verdict | undefined {
  if (!(error instanceof RoomhubError)) return undefined;
  if (isNoHolder(error)) return { event: { type: "forgotten" }, reason: lineOf(error) };
  if (isRefusedByHub(error)) return refusalBy(error);
  if (error.status !== 404 || error.code === notAHub) return undefined;
  return { event: { type: "forgotten" }, reason: lineOf(error) };
}

/** The hub that took the join is no longer the home of the room. */
export class StaleHomeError extends Error {
  override readonly name = "StaleHomeError";
}

/** A response in place of a tunnel, from the hub or a proxy. */
export interface RefusedUpgrade {
  status: number;
  /** the header's value */
  retryAfter: string | undefined;
  body: string;
}

/**
 * Contract §3: 404, or a closed room in which its token proves nothing → join again; other 401/403 → stop, when the response is from the hub: a proxy may refuse temporarily.
 *
 * @param hasSession - to be resumed, which joining again would end: a 404 has to be from the hub, too
 */
export function judgeUpgrade(
  host: string,
  { status, retryAfter, body }: RefusedUpgrade,
  hasSession: boolean,
): Verdict {
  const error = ErrorBody.safeParse(parseJson(body)).data?.error;
  const isForgotten = status === 404 && (error !== undefined || !hasSession);
  if (isForgotten || (error !== undefined && isNoHolder(error))) {
    return {
      event: { type: "forgotten" },
      reason: "the hub does not have this participant; joining again",
    };
  }
  if ((status === 401 || status === 403) && error !== undefined) {
    return refusal({
      code: "participant_token_invalid",
      reason: `The hub at ${host} refused this participant's tunnel (${status}): its token is no longer valid.`,
      hint: "Join again.",
    });
  }
  const seconds = Number(retryAfter ?? 0);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
  const reason =
    error === undefined
      ? `the hub at ${host} responded ${status} to the tunnel request`
      : withHint(error.message, error.hint);
  return { event: { type: "failed", retryAfterMs }, reason };
}

/** What the end of a tunnel means, by the code of its WebSocket. */
export function judgeClose(code: number, reason: string): Verdict {
  if (code === CLOSE_CODES.replaced) {
    return refusal({
      code: "replaced",
      reason: "Another agent joined with this id and took over.",
      hint: "Run only one of them, or choose another id.",
    });
  }
  if (code === CLOSE_CODES.goingAway) return retry("the hub is restarting");
  // RFC 6455 §7.1.5: the connection closed without a close frame.
  if (code === 1006) return retry("the connection to the hub was lost");
  return retry(`the tunnel broke (${reason === "" ? `code ${code}` : reason})`);
}

/** The connection failed in a way that another attempt may cure. */
export function retry(reason: string): Verdict {
  return { event: { type: "failed" }, reason };
}

/** The hub is no longer the home of the room. */
export function stale(reason: string): Verdict {
  return { event: { type: "failed", isStale: true }, reason };
}

function refusal(stop: StopReason): Verdict {
  return { event: { type: "refused", stop }, reason: stop.reason };
}

function refusalBy({ code, message, hint }: RoomhubError): Verdict {
  return refusal({ code, reason: message, hint });
}

function isRefusedByHub({ status, code }: RoomhubError): boolean {
  return (status === 401 || status === 403) && code !== notAHub;
}

/** A hub that restarted without its state does not know the room either, but does not say that this is final. */
function isDeletedRoom({ code, isFinal }: RoomhubError): boolean {
  return code === "room_not_found" && isFinal;
}

/** In a closed room the token of a participant that was removed proves nothing; of a join, the hub says why it is refused. */
function isNoHolder({ code }: { code: string }): boolean {
  return code === "invalid_api_key";
}

/** One line, including the next step. */
function lineOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return withHint(error.message, error instanceof RoomhubError ? error.hint : undefined);
}

function withHint(message: string, hint: string | undefined): string {
  return hint === undefined ? message : `${message} (${hint})`;
}
