import type { DetailEventName, EventName } from "@roomhub/protocol";

/** An event of one hub for the watchers at all others. Contract §8. */
export interface BusMessage {
  /** boot id of the hub where it happened */
  origin: string;
  /** 1 for the origin's first event of the room, and one more for each; events of detail are counted on their own */
  sequence: number;
  roomCode: string;
  name: EventName | DetailEventName;
  /** ISO text */
  timestamp: string;
  payload: object;
  /** Of a participant's entry: the event is shown once the watcher's hub knows that revision. */
  revision?: number;
  /** of that participant */
  participantId?: string;
}

/** What watchers see of it. */
export type ShownEvent = Pick<BusMessage, "name" | "timestamp" | "payload">;
