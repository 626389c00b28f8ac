import {
  type ClientIdentity,
  clientText,
  type CompletePayload,
  type DetailEventName,
  type DetailPayloads,
  type EventName,
  type EventPayloads,
  type FailurePayload,
  type FirstPayload,
  type ParticipantSummary,
  type ProgressPayload,
  type QueuedPayload,
  type RequestPayload,
  type Room,
} from "@roomhub/protocol";
import type { Log } from "../log.ts";
import type { EventBus } from "./bus.ts";

/** One helper per event: the stream and, for llm events, the operator's console line. Interface §6. */
export interface Emitter {
  roomCreated(room: Room): void;
  participantJoined(roomCode: string, participant: ParticipantSummary): void;
  participantUpdated(roomCode: string, participant: ParticipantSummary): void;
  participantLeft(
    roomCode: string,
    who: { participantId: string; nickname: string; reason?: string },
  ): void;
  participantOffline(roomCode: string, who: { participantId: string; nickname: string }): void;
  llmRequest(roomCode: string, payload: RequestPayload): void;
  llmComplete(roomCode: string, payload: CompletePayload): void;
  llmError(roomCode: string, payload: FailurePayload, status: number): void;
  /** These are for streams with detail: call them only while {@link EventBus.detail} is watched. */
  requestQueued(roomCode: string, payload: QueuedPayload): void;
  requestFirst(roomCode: string, payload: FirstPayload): void;
  /** @returns false when it was dropped, because the room's requests show enough progress already */
  requestProgress(roomCode: string, payload: ProgressPayload): boolean;
}

/** @returns whether the event of a room goes elsewhere: to the room's home, or nowhere before it is known */
export type DivertEvent = (
  roomCode: string,
  name: EventName,
  timestamp: () => string,
  payload: object,
) => boolean;

/**
 * @param wallMs - epoch ms, for the timestamps
 * @param nowMs - monotonic
 */
export function createEmitter(
  bus: EventBus,
  log: Log,
  wallMs: () => number,
  nowMs: () => number,
  divert?: DivertEvent,
): Emitter {
  const now = createTimestamps(wallMs);
  function publish<Name extends EventName>(
    roomCode: string,
    name: Name,
    payload: EventPayloads[Name],
  ): void {
    const timestamp = now();
    if (divert?.(roomCode, name, () => timestamp, payload) === true) return;
    bus.publish(roomCode, name, () => timestamp, payload);
  }
  function publishDetail<Name extends DetailEventName>(
    roomCode: string,
    name: Name,
    payload: DetailPayloads[Name],
  ): void {
    bus.publishDetail(roomCode, name, now, payload);
  }
  const progressLimit = new ProgressLimit(nowMs);
  return {
    // The moment of creation, so that a stream opened a little later begins with the very same event.
    roomCreated: (room) =>
      bus.publish(room.code, "room.created", () => new Date(room.createdAt).toISOString(), {
        room,
      }),
    participantJoined: (roomCode, participant) =>
      publish(roomCode, "participant.joined", { participant }),
    participantUpdated: (roomCode, participant) =>
      publish(roomCode, "participant.updated", { participant }),
    participantLeft: (roomCode, who) => publish(roomCode, "participant.left", who),
    participantOffline: (roomCode, who) => publish(roomCode, "participant.offline", who),
    llmRequest(roomCode, payload) {
      publish(roomCode, "llm.request", payload);
      log.event("llm.request", roomCode, forLog(payload));
    },
    llmComplete(roomCode, payload) {
      publish(roomCode, "llm.complete", payload);
      log.event("llm.complete", roomCode, forLog(payload));
    },
    llmError(roomCode, payload, status) {
      publish(roomCode, "llm.error", payload);
      log.event("llm.error", roomCode, { ...forLog(payload), status });
    },
    requestQueued: (roomCode, payload) => publishDetail(roomCode, "request.queued", payload),
    requestFirst: (roomCode, payload) => publishDetail(roomCode, "request.first", payload),
    requestProgress(roomCode, payload) {
      if (!progressLimit.allows(roomCode)) return false;
      publishDetail(roomCode, "request.progress", payload);
      return true;
    },
  };
}

/** A line names the client in one word, and not at all when the client reveals nothing. */
function forLog<Payload extends { client: ClientIdentity }>(payload: Payload) {
  return { ...payload, client: clientText(payload.client) };
}

/** ISO text of the moment, made once per millisecond. */
function createTimestamps(wallMs: () => number): () => string {
  let madeFor = Number.NaN;
  let text = "";
  return () => {
    const ms = Math.floor(wallMs());
    if (ms !== madeFor) {
      madeFor = ms;
      text = new Date(ms).toISOString();
    }
    return text;
  };
}

const windowMs = 1_000;
const maxPerWindow = 200;

/**
 * How often a room's requests may show progress: 200 times a second, all together. Contract §5, "Detail". One second for
 * all rooms, so that nothing is kept of those that are quiet.
 */
class ProgressLimit {
  readonly #nowMs: () => number;
  readonly #counts = new Map<string, number>();
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** @param nowMs - monotonic */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Counts one more. @returns false when it is too much */
  allows(roomCode: string): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#sinceMs >= windowMs) {
      this.#sinceMs = nowMs;
      this.#counts.clear();
    }
    const count = (this.#counts.get(roomCode) ?? 0) + 1;
    if (count > maxPerWindow) return false;
    this.#counts.set(roomCode, count);
    return true;
  }
}
