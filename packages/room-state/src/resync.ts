import type { ParticipantSummary, RequestSummary, Room } from "@roomhub/protocol";
import { gapOf, type LostConnections } from "./lost-connections.ts";
import { type Remark, withRemarks } from "./log.ts";
import { participantRemarks } from "./log-text.ts";
import type { RunningRequest } from "./running-requests.ts";
import type { RoomState } from "./state.ts";
import { watchedFrom } from "./watched.ts";

/** The hub's lists, read after the stream was opened. */
export interface RoomLists {
  /** left out to keep the room as it is known */
  room?: Room | undefined;
  participants: readonly ParticipantSummary[];
  /** undefined for a hub that does not list requests: running ones become known with their next event */
  requests: readonly RequestSummary[] | undefined;
}

/**
 * The state after events may have been missed: participants and requests are those of the lists. Figures, recent requests and
 * the log are kept; on every call but the first, changes are added to the log.
 *
 * Calling it again with the same lists changes nothing. Events of the stream that were received before the lists must be
 * reduced after this call, in order; `followRoom` does so.
 *
 * @param nowMs - epoch ms on the watcher's clock
 */
export function resync(state: RoomState, lists: RoomLists, nowMs: number): RoomState {
  const participants = new Map(lists.participants.map((entry) => [entry.id, entry]));
  const next: RoomState = {
    ...state,
    isSynced: true,
    watched: watchedFrom(state.watched, nowMs),
    room: lists.room ?? state.room,
    participants,
    lost: listedLost(state, lists.participants, nowMs),
    running: listedRequests(state, lists.requests ?? [], nowMs),
  };
  return state.isSynced ? withRemarks(next, changes(state, next, nowMs), nowMs) : next;
}

function listedLost(
  { lost }: RoomState,
  participants: readonly ParticipantSummary[],
  nowMs: number,
): LostConnections {
  const listed = new Map<string, number>();
  for (const { id, connection } of participants) {
    const { resuming } = connection;
    if (resuming !== undefined) listed.set(id, lost.get(id) ?? nowMs - resuming.sinceMs);
  }
  return listed;
}

function listedRequests(state: RoomState, requests: readonly RequestSummary[], nowMs: number) {
  const running = new Map<string, RunningRequest>();
  // A request may have ended after the hub made the list.
  const endedIds = new Set(state.recent.map(({ requestId }) => requestId));
  for (const request of requests) {
    if (endedIds.has(request.requestId)) continue;
    const known = state.running.get(request.requestId);
    running.set(request.requestId, fromList(request, known, nowMs));
  }
  return running;
}

function fromList(
  request: RequestSummary,
  known: RunningRequest | undefined,
  nowMs: number,
): RunningRequest {
  const { requestId, selector, protocol, client, conversation, priority, attempt } = request;
  // The hub's clock may be ahead of the watcher's.
  const startedMs = known?.startedMs ?? Math.min(request.startedAt, nowMs);
  const named = { requestId, selector, protocol, client, conversation, priority };
  const facts = { ...named, startedMs, attempt };
  const { participantId, model = "" } = request;
  if (request.state === "queued" || participantId === undefined) {
    return { ...facts, kind: "queued", place: Math.max(1, request.place ?? 1) };
  }
  const sentMs = known !== undefined && known.kind !== "queued" ? known.sentMs : startedMs;
  const at = { ...facts, participantId, model, sentMs };
  if (request.state === "running") return { ...at, kind: "waiting" };
  const firstAt = Math.min(Math.max(request.firstAt ?? nowMs, startedMs), nowMs);
  const before = known?.kind === "streaming" ? known : undefined;
  const outputTokens = Math.max(request.outputTokens ?? 0, before?.outputTokens ?? 0);
  return {
    ...at,
    kind: "streaming",
    ttftMs: before?.ttftMs ?? firstAt - startedMs,
    // Times on the hub's clock say nothing about a rate on the watcher's.
    ratedFromMs: before?.ratedFromMs ?? nowMs,
    ratedFromTokens: before?.ratedFromTokens ?? outputTokens,
    outputTokens,
    tokensPerSecond: before?.tokensPerSecond,
  };
}

function changes(before: RoomState, after: RoomState, nowMs: number): Remark[] {
  const gaps = { lost: before.lost, running: after.running };
  const ids = new Set([...before.participants.keys(), ...after.participants.keys()]);
  const remarks = [...ids].flatMap((id) =>
    participantRemarks(
      before.participants.get(id),
      after.participants.get(id),
      gapOf(gaps, id, nowMs),
    ),
  );
  const unseen = [...before.running.keys()].filter((id) => !after.running.has(id)).length;
  if (unseen === 0) return remarks;
  const requests = unseen === 1 ? "1 request" : `${unseen} requests`;
  return [...remarks, { level: "warning", text: `${requests} ended while disconnected` }];
}
