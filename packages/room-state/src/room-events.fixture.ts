import type { ParticipantSummary, RequestSummary } from "@roomhub/protocol";
import { reduce } from "./reduce.ts";
import type { RoomEvent } from "./reduce.ts";
import { resync } from "./resync.ts";
import { initialState, type RoomState } from "./state.ts";

type Of<Name extends RoomEvent["type"]> = RoomEvent & { type: Name };

const inRoom = { timestamp: "2026-01-02T03:04:05.000Z", roomCode: "ABC234" };
const origin = {
  selector: "*",
  protocol: "chatCompletions",
  client: { kind: "name", id: "alice" },
} as const;
const at = { participantId: "ana-llama3", model: "llama3" };

/** Noon; a bucket begins at it. */
export const noonMs = Date.UTC(2026, 0, 2, 12);

export function aParticipant(overrides: Partial<ParticipantSummary> = {}): ParticipantSummary {
  return {
    id: "ana-llama3",
    nickname: "Ana",
    model: "llama3",
    endpoint: "http://127.0.0.1:11434",
    status: "online",
    connection: {
      kind: "tunnel",
      connected: true,
      lastTunnelSeenAt: null,
      path: "tunnel",
      readiness: "ready",
    },
    specs: {},
    config: {},
    capabilities: { openResponses: "unknown", chatCompletions: "supported" },
    joinedAt: 0,
    lastSeen: 0,
    load: { active: 0, queued: 0, limit: 4, limitFrom: "declared" },
    ...overrides,
  };
}

export function joined(overrides: Partial<ParticipantSummary> = {}): RoomEvent {
  return { ...inRoom, type: "participant.joined", participant: aParticipant(overrides) };
}

export function updated(overrides: Partial<ParticipantSummary> = {}): RoomEvent {
  return { ...inRoom, type: "participant.updated", participant: aParticipant(overrides) };
}

export function left(participantId: string, reason?: string): RoomEvent {
  return { ...inRoom, type: "participant.left", participantId, nickname: "Ana", reason };
}

export function offline(participantId: string): RoomEvent {
  return { ...inRoom, type: "participant.offline", participantId, nickname: "Ana" };
}

export function queued(
  requestId: string,
  place: number,
  more: Partial<Of<"request.queued">> = {},
): RoomEvent {
  return { ...inRoom, type: "request.queued", requestId, ...origin, place, ...more };
}

export function sent(requestId: string, more: Partial<Of<"llm.request">> = {}): RoomEvent {
  return { ...inRoom, type: "llm.request", requestId, ...origin, ...at, attempt: 1, ...more };
}

export function first(requestId: string, ttftMs = 100): RoomEvent {
  return { ...inRoom, type: "request.first", requestId, participantId: "ana-llama3", ttftMs };
}

export function progress(requestId: string, outputTokens: number): RoomEvent {
  return { ...inRoom, type: "request.progress", requestId, outputTokens };
}

export function complete(
  requestId: string,
  metrics: Partial<Of<"llm.complete">["metrics"]> = {},
  more: Partial<Of<"llm.complete">> = {},
): RoomEvent {
  return {
    ...inRoom,
    type: "llm.complete",
    requestId,
    ...origin,
    ...at,
    attempts: 1,
    queueMs: 0,
    metrics: { ttftMs: 100, durationMs: 1_000, ...metrics },
    ...more,
  };
}

export function failure(requestId: string, more: Partial<Of<"llm.error">> = {}): RoomEvent {
  return {
    ...inRoom,
    type: "llm.error",
    requestId,
    ...origin,
    ...at,
    nickname: "Ana",
    endpoint: "http://127.0.0.1:11434",
    stage: "provider",
    error: "ana-llama3: the model server closed the connection",
    code: "provider_disconnected",
    attempts: 1,
    queueMs: 0,
    ...more,
  };
}

export function listed(requestId: string, more: Partial<RequestSummary> = {}): RequestSummary {
  return {
    requestId,
    ...origin,
    ...at,
    state: "running",
    attempt: 1,
    startedAt: noonMs - 5_000,
    ...more,
  };
}

/** Reduces events, each `stepMs` after the one before; the first at `nowMs`. */
export function after(
  events: readonly RoomEvent[],
  {
    state = initialState(),
    nowMs = noonMs,
    stepMs = 0,
  }: {
    state?: RoomState;
    nowMs?: number;
    stepMs?: number;
  } = {},
): RoomState {
  return events.reduce((next, event, index) => reduce(next, event, nowMs + index * stepMs), state);
}

/** A room without anything in it, watched from a moment on. */
export function watchedSince(fromMs: number): RoomState {
  return resync(initialState(), { participants: [], requests: [] }, fromMs);
}

export function texts({ log }: RoomState): string[] {
  return log.map(({ text }) => text);
}
