import type { FailureStage } from "./error.ts";
import type { ParticipantSummary } from "./participant.ts";
import type { Room } from "./room.ts";
import type { InferenceProtocol } from "./surface.ts";

/** Interface §6, metrics: hub-observed; unknown values are absent, never 0 or null. */
export interface Metrics {
  /** ms to the first generated content (stream) or the first body byte */
  ttftMs: number;
  /** ms */
  durationMs: number;
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  /** outputTokens per second of `durationMs` */
  tokensPerSecond?: number;
}

export interface RequestPayload {
  requestId: string;
  participantId: string;
  model: string;
  protocol: InferenceProtocol;
  /** what the client's `model` field said */
  selector: string;
  /** 1, or 2 after a retry on another participant */
  attempt: number;
}

export interface CompletePayload {
  requestId: string;
  participantId: string;
  model: string;
  protocol: InferenceProtocol;
  selector: string;
  attempts: number;
  /** ms spent waiting for a free participant */
  queueMs: number;
  metrics: Metrics;
}

export interface FailurePayload {
  requestId: string;
  participantId: string | null;
  nickname: string | null;
  endpoint: string | null;
  model: string | null;
  protocol: InferenceProtocol;
  stage: FailureStage;
  error: string;
  code: string;
  selector: string | null;
  attempts: number;
  queueMs: number;
}

/** All eight events and their payloads, by their dotted names. Contract §5. */
export interface EventPayloads {
  "room.created": { room: Room };
  "participant.joined": { participant: ParticipantSummary };
  "participant.updated": { participant: ParticipantSummary };
  "participant.left": { participantId: string; nickname: string; reason?: string };
  "participant.offline": { participantId: string; nickname: string };
  "llm.request": RequestPayload;
  "llm.complete": CompletePayload;
  "llm.error": FailurePayload;
}

export type EventName = keyof EventPayloads;

/** How a stream spells its names: the room-scoped family with colons, the management family with dots. */
export type EventSpelling = "colon" | "dot";

export const EVENT_NAMES = [
  "room.created",
  "participant.joined",
  "participant.updated",
  "participant.left",
  "participant.offline",
  "llm.request",
  "llm.complete",
  "llm.error",
] as const satisfies readonly EventName[];

export function spellEventName(name: EventName, spelling: EventSpelling): string {
  return spelling === "dot" ? name : name.replace(".", ":");
}

/** The `data` of one event on the wire, dotted spelling. `timestamp` is ISO. */
export type HubEvent = {
  [Name in EventName]: { type: Name; timestamp: string; roomCode: string } & EventPayloads[Name];
}[EventName];
