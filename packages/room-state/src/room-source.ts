import type { ParticipantSummary, RequestSummary, Room } from "@roomhub/protocol";
import type { RoomLists } from "./resync.ts";
import type { RoomEvent } from "./reduce.ts";

/** Called by a stream of events. `onOpen` comes before the first event of each opening. */
interface StreamOptions {
  signal: AbortSignal;
  onOpen: () => void;
  onDisconnect: (reason: string, retryInMs: number) => void;
  onInvalidEvent?: ((problem: string) => void) | undefined;
}

/** Where a room's events and lists come from. */
export interface RoomSource {
  /** Of a stream with detail; reopens it when it breaks. */
  events: (options: StreamOptions) => AsyncIterable<RoomEvent>;
  lists: (signal: AbortSignal) => Promise<RoomLists>;
}

/** The methods of the SDK's `RoomhubClient` that are used. */
interface RoomCalls {
  events(code: string, options: StreamOptions & { detail: true }): AsyncIterable<RoomEvent>;
  getRoom(code: string, options: { signal: AbortSignal }): Promise<Room>;
  listParticipants(code: string, options: { signal: AbortSignal }): Promise<ParticipantSummary[]>;
  listRequests(code: string, options: { signal: AbortSignal }): Promise<RequestSummary[]>;
}

/** A room of a hub, by the SDK. A hub that does not list requests is no error. */
export function roomSource(client: RoomCalls, code: string): RoomSource {
  return {
    events: (options) => client.events(code, { ...options, detail: true }),
    async lists(signal) {
      const [room, participants, requests] = await Promise.all([
        client.getRoom(code, { signal }),
        client.listParticipants(code, { signal }),
        client.listRequests(code, { signal }).catch(unlessNotFound),
      ]);
      return { room, participants, requests };
    },
  };
}

/** An older hub has no such list; of a room that does not exist, the other lists report it. */
function unlessNotFound(error: unknown): undefined {
  const isNotFound = error instanceof Error && "status" in error && error.status === 404;
  if (!isNotFound) throw error;
}
