import { type Invite, isRoomhubError, RoomhubClient } from "@roomhub/client";
import type { ListedRequest, RoomSource } from "@roomhub/room-state";

/** A room's events with detail, and its lists. */
export function roomSource({ hubUrl, room: code }: Invite): RoomSource {
  const client = new RoomhubClient({ hubUrl });
  return {
    events: (options) => client.events(code, { ...options, detail: true }),
    async lists(signal) {
      const [room, participants, requests] = await Promise.all([
        client.getRoom(code, { signal }),
        client.listParticipants(code, { signal }),
        listRequests(client, code, signal),
      ]);
      return { room, participants, requests };
    },
  };
}

/** An older hub lists no requests: those that run become known with their next event. */
async function listRequests(
  client: RoomhubClient,
  code: string,
  signal: AbortSignal,
): Promise<readonly ListedRequest[] | undefined> {
  try {
    return await client.listRequests(code, { signal });
  } catch (error) {
    if (isRoomhubError(error, "not_found")) return undefined;
    throw error;
  }
}
