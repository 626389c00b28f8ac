import {
  type CompletePayload,
  clientText,
  type DetailEvent,
  type FailurePayload,
  type HubEvent,
  type OfflinePayload,
  type ParticipantSummary,
  type ProgressPayload,
  type RequestPayload,
} from "@roomhub/protocol";
import { NOWHERE, withEnd, withTokens } from "./figures/buckets.ts";
import { done, type EndedRequest, failed, RECENT_REQUESTS } from "./ended-requests.ts";
import {
  endRemark,
  leftRemark,
  movedRemark,
  offlineRemark,
  participantRemarks,
} from "./log-text.ts";
import { withRemarks } from "./log.ts";
import { gapOf, noteConnection } from "./lost-connections.ts";
import { appended, withEntry, withoutEntry } from "./immutable.ts";
import { began, ended, progressed, queued, sent } from "./running-requests.ts";
import type { RoomState } from "./state.ts";
import { tokensOf } from "./figures/token-sum.ts";

/** An event of a stream opened with `?detail=1`. Contract §5. */
export type RoomEvent = HubEvent | DetailEvent;

/**
 * The state after one event of the room's stream, with or without `?detail=1`, in either spelling of event names. Contract
 * §5.
 *
 * Events with an unknown name change nothing. Events about requests and participants that are not known are harmless: a
 * watcher may begin at any moment.
 *
 * @param nowMs - epoch ms on the watcher's clock
 */
export function reduce(state: RoomState, event: RoomEvent, nowMs: number): RoomState {
  // Room-scoped paths spell names with a colon.
  const dotted = { ...event, type: event.type.replace(":", ".") } as RoomEvent;
  switch (dotted.type) {
    case "room.created":
      return { ...state, room: dotted.room };
    case "participant.joined":
    case "participant.updated":
      return withParticipant(state, dotted.participant, nowMs);
    case "participant.left":
      return withoutParticipant(state, dotted, nowMs);
    case "participant.offline":
      return withOffline(state, dotted, nowMs);
    case "request.queued":
      return { ...state, running: queued(state.running, dotted, nowMs) };
    case "llm.request":
      return withAttempt(state, dotted, nowMs);
    case "request.first": {
      const running = began(state.running, dotted.requestId, dotted.ttftMs, nowMs);
      return { ...state, running };
    }
    case "request.progress":
      return withProgress(state, dotted, nowMs);
    case "llm.complete":
      return withDone(state, dotted, nowMs);
    case "llm.error":
      return withFailure(state, dotted, nowMs);
    default:
      dotted satisfies never;
      return state;
  }
}

function withParticipant(state: RoomState, participant: ParticipantSummary, nowMs: number) {
  const before = state.participants.get(participant.id);
  const remarks = participantRemarks(before, participant, gapOf(state, participant.id, nowMs));
  const participants = withEntry(state.participants, participant.id, participant);
  const lost = noteConnection(state.lost, participant, nowMs);
  return withRemarks({ ...state, participants, lost }, remarks, nowMs);
}

/** Its running requests stay until their ends are seen. */
function withoutParticipant(
  state: RoomState,
  left: { participantId: string; reason?: string | undefined },
  nowMs: number,
): RoomState {
  if (!state.participants.has(left.participantId)) return state;
  const participants = withoutEntry(state.participants, left.participantId);
  const lost = withoutEntry(state.lost, left.participantId);
  return withRemarks({ ...state, participants, lost }, [leftRemark(left)], nowMs);
}

function withOffline(state: RoomState, { participantId }: OfflinePayload, nowMs: number) {
  const known = state.participants.get(participantId);
  if (known === undefined || known.status === "offline") return state;
  const offline: ParticipantSummary = { ...known, status: "offline" };
  const participants = withEntry(state.participants, participantId, offline);
  return withRemarks({ ...state, participants }, [offlineRemark(participantId)], nowMs);
}

function withAttempt(state: RoomState, event: RequestPayload, nowMs: number): RoomState {
  const next = { ...state, running: sent(state.running, event, nowMs) };
  if (event.attempt < 2) return next;
  return withRemarks(next, [movedRemark(event)], nowMs);
}

function withProgress(state: RoomState, event: ProgressPayload, nowMs: number): RoomState {
  const running = progressed(state.running, event.requestId, event.outputTokens, nowMs);
  if (running === state.running) return state;
  const tokens = countedTokens({ ...state, running }, event.requestId);
  const more = tokens - countedTokens(state, event.requestId);
  return { ...state, running, buckets: withTokens(state.buckets, more, nowMs) };
}

function withDone(state: RoomState, event: CompletePayload, nowMs: number): RoomState {
  const { inputTokens, cachedInputTokens, outputTokens } = event.metrics;
  const counted = countedTokens(state, event.requestId);
  // Progress counts chunks, of which a provider may send more than tokens: never less than before.
  const more = Math.max(0, (outputTokens ?? 0) - counted);
  const sample = {
    participantId: event.participantId,
    person: clientText(event.client) ?? "",
    model: event.model,
    isError: false,
    ttftMs: event.metrics.ttftMs,
    inputTokens: tokensOf(inputTokens),
    outputTokens: tokensOf(outputTokens, counted),
    ...promptOf(),
  };
  const buckets = withEnd(withTokens(state.buckets, more, nowMs), sample, nowMs);
  return withEndOf({ ...state, buckets }, done(event, nowMs), nowMs);

  /** Only responses that report both say anything about the cache. */
  function promptOf() {
    if (inputTokens === undefined || cachedInputTokens === undefined) {
      return { promptTokens: 0, cachedTokens: 0 };
    }
    return { promptTokens: inputTokens, cachedTokens: Math.min(inputTokens, cachedInputTokens) };
  }
}

function withFailure(
  state: RoomState,
  event: FailurePayload & { roomCode: string },
  nowMs: number,
): RoomState {
  const request = failed(event, nowMs);
  const counted = countedTokens(state, event.requestId);
  const sample = {
    participantId: event.participantId ?? NOWHERE,
    person: clientText(event.client) ?? "",
    model: event.participantId === null ? "" : (event.model ?? ""),
    isError: request.kind === "failed",
    ttftMs: undefined,
    inputTokens: undefined,
    // One that failed before its first token has used none.
    outputTokens: counted === 0 ? undefined : tokensOf(undefined, counted),
    promptTokens: 0,
    cachedTokens: 0,
  };
  const buckets = withEnd(state.buckets, sample, nowMs);
  return withEndOf({ ...state, buckets }, request, nowMs);
}

function withEndOf(state: RoomState, request: EndedRequest, nowMs: number): RoomState {
  const known = state.running.get(request.requestId);
  const conversation = request.conversation ?? known?.conversation;
  const next = {
    ...state,
    running: ended(state.running, request.requestId),
    recent: appended(state.recent, { ...request, conversation }, RECENT_REQUESTS),
  };
  return withRemarks(next, [endRemark(request)], nowMs);
}

function countedTokens(state: RoomState, requestId: string): number {
  const request = state.running.get(requestId);
  return request?.kind === "streaming" ? request.outputTokens : 0;
}
