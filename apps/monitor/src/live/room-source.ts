import { type Invite, RoomhubClient } from "@roomhub/client";
import type { RoomSource } from "@roomhub/room-state";

/** A room's events, and its lists. */
export function roomSource({ hubUrl, room: code }: Invite): RoomSource {
  const client = new RoomhubClient({ hubUrl });
  return {
    events: (options) => client.events(code, options),
    async lists(signal) {
      const [room, participants] = await Promise.all([
        client.getRoom(code, { signal }),
        client.listParticipants(code, { signal }),
      ]);
      return { room, participants, requests: undefined };
    },
  };
}
