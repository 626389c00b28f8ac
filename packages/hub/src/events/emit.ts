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

/** An event on its way to the stream of its room. */
export interface RoomEvent {
  code: string;
  name: EventName;
  timestamp: string;
  /** the payload that belongs to the name */
  payload: object;
  /** HTTP status, of an `llm.error` */
  status?: number | undefined;
  /** The home that served the request ended: the hub of its client tells its end. */
  isLost?: true;
}

/** @returns whether the event goes elsewhere: to the room's home, or nowhere before it is known */
export type DivertEvent = (event: RoomEvent) => boolean;

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
    code: string,
    name: Name,
    payload: EventPayloads[Name],
    status?: number,
  ): void {
    const event = { code, name, timestamp: now(), payload, status };
    if (divert?.(event) !== true) publishEvent(bus, log, event);
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
    llmRequest: (roomCode, payload) => publish(roomCode, "llm.request", payload),
    llmComplete: (roomCode, payload) => publish(roomCode, "llm.complete", payload),
    llmError: (roomCode, payload, status) => publish(roomCode, "llm.error", payload, status),
    requestQueued: (roomCode, payload) => publishDetail(roomCode, "request.queued", payload),
    requestFirst: (roomCode, payload) => publishDetail(roomCode, "request.first", payload),
    requestProgress(roomCode, payload) {
      if (!progressLimit.allows(roomCode)) return false;
      publishDetail(roomCode, "request.progress", payload);
      return true;
    },
  };
}

/** At the home of the room, whichever hub has it. */
export function publishEvent(
  bus: Pick<EventBus, "publish">,
  log: Pick<Log, "event">,
  { code, name, timestamp, payload, status }: RoomEvent,
): void {
  bus.publish(code, name, () => timestamp, payload as EventPayloads[typeof name]);
  if (!name.startsWith("llm.")) return;
  // A line has the client as one word, and omits a client that reveals nothing.
  const client = clientText((payload as { client: ClientIdentity }).client);
  log.event(name, code, { ...payload, client, status });
}

/** The current time as ISO text, made once per millisecond. */
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
 * How often the requests of a room may show progress: 200 times a second together. Contract §5, "Detail". The second is
 * common to all rooms, so that nothing is kept for quiet rooms.
 */
class ProgressLimit {
  readonly #nowMs: () => number;
  readonly #counts = new Map<string, number>();
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** @param nowMs - monotonic */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Counts one more event. @returns false when it is too much */
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
