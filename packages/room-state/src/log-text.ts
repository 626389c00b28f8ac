import {
  clientText,
  type ClientIdentity,
  type LeftPayload,
  type ParticipantSummary,
  type RequestPayload,
} from "@roomhub/protocol";
import type { EndedRequest } from "./ended-requests.ts";
import type { Remark } from "./log.ts";
import { backText, type Gap, lostText, notBackText } from "./lost-connections.ts";

/**
 * What changed about a participant, one line each; undefined stands for one that is not in the room.
 *
 * @param gap - undefined unless its connection was lost before this change
 */
export function participantRemarks(
  before: ParticipantSummary | undefined,
  after: ParticipantSummary | undefined,
  gap?: Gap,
): Remark[] {
  if (after === undefined)
    return before === undefined ? [] : [leftRemark({ ...before, participantId: before.id })];
  const { id, model, status } = after;
  if (before === undefined) return [info(joinedText(id, model))];
  const remarks: Remark[] = [];
  if (before.model !== model) remarks.push(info(`${id} shares ${model} now`));
  const [wasOffline, isOffline] = [before.status === "offline", status === "offline"];
  if (isOffline && !wasOffline) remarks.push(offlineRemark(id));
  if (wasOffline && !isOffline) remarks.push(info(`${id} is online`));
  remarks.push(...connectionRemarks(before, after, gap));
  const isUsedUp = after.budget?.remainingTokens === 0;
  if (isUsedUp && before.budget?.remainingTokens !== 0) {
    remarks.push(warning(`${id} has used up its budget`));
  }
  return remarks;
}

function connectionRemarks(
  before: ParticipantSummary,
  after: ParticipantSummary,
  gap: Gap | undefined,
): Remark[] {
  const { id, connection, status } = after;
  const { resuming } = connection;
  const wasResuming = before.connection.resuming !== undefined;
  if (resuming !== undefined) return wasResuming ? [] : [warning(lostText(id, resuming.streams))];
  const isBack = connection.connected && connection.path === "tunnel";
  if (wasResuming && isBack) return [info(backText(id, gap?.ms ?? 0, gap?.streams ?? 0))];
  const remarks: Remark[] = wasResuming ? [warning(notBackText(id, gap?.ms ?? 0))] : [];
  if (!wasResuming && before.connection.readiness !== connection.readiness) {
    remarks.push(readinessRemark(after));
  }
  if (before.connection.connected && !connection.connected && status !== "offline") {
    remarks.push(warning(`${id} is not connected`));
  }
  if (!before.connection.connected && connection.connected) {
    remarks.push(info(`${id} is connected (${connection.path})`));
  }
  return remarks;
}

export function joinedText(id: string, model: string): string {
  return `${id} joined with ${model}`;
}

export function leftText(id: string, reason?: string): string {
  return `${id} left${reason === undefined ? "" : ` (${reason})`}`;
}

export function offlineText(id: string): string {
  return `${id} is offline`;
}

export function offlineRemark(id: string): Remark {
  return warning(offlineText(id));
}

export function leftRemark({
  participantId,
  reason,
}: Pick<LeftPayload, "participantId" | "reason">) {
  return info(leftText(participantId, reason));
}

/** Another attempt: the second or a later one. */
export function movedRemark({ requestId, client, participantId, attempt }: RequestPayload): Remark {
  const text = `${personOf(client)}: moved to ${participantId}, attempt ${attempt}`;
  return { ...warning(text), requestId };
}

export function endRemark(request: EndedRequest): Remark {
  return { ...endText(request), requestId: request.requestId };
}

function endText(request: EndedRequest): Remark {
  const { participantId, model = "-" } = request;
  const what = `${personOf(request.client)}: ${model}${participantId === undefined ? "" : ` at ${participantId}`}`;
  switch (request.kind) {
    case "done": {
      const { durationMs, outputTokens } = request.metrics;
      const tokens = outputTokens === undefined ? "" : `${outputTokens} tokens in `;
      const times = request.resumes === 1 ? "once" : `${request.resumes} times`;
      const resumed = request.resumes === 0 ? "" : `, resumed ${times}`;
      return info(`${what}, ${tokens}${(durationMs / 1_000).toFixed(1)} s${resumed}`);
    }
    case "cancelled":
      return info(`${what}, cancelled by the client`);
    case "failed": {
      // The line names the participant already.
      const prefix = `${participantId ?? ""}: `;
      const { stage, error } = request;
      const why = error.startsWith(prefix) ? error.slice(prefix.length) : error;
      return { level: "error", text: `${what}, failed (${stage}): ${why}` };
    }
  }
}

function readinessRemark({ id, connection: { readiness, problem } }: ParticipantSummary): Remark {
  const text = problem === undefined ? `${id} is ${readiness}` : `${id}: ${problem}`;
  return readiness === "ready" || readiness === "loading" ? info(text) : warning(text);
}

/** A client that reveals nothing is shown as `-`. */
function personOf(client: ClientIdentity): string {
  return clientText(client) ?? "-";
}

function info(text: string): Remark {
  return { level: "info", text };
}

function warning(text: string): Remark {
  return { level: "warning", text };
}
