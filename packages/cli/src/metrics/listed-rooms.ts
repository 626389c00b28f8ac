import type { Client } from "../context.ts";
import type { ListedRoom } from "./room-metrics.ts";

/** Rooms whose participants are listed for one scrape, each with a request of its own. */
const maxRooms = 100;
/** Several scrapers cost the hub no more than one. */
const keptMs = 1_000;

/**
 * The participants of a room, or of the first 100 rooms of the hub.
 *
 * @param room - undefined for all rooms
 * @returns reads the lists; undefined when the hub cannot be reached
 */
export function createRoomLists(
  client: Pick<Client, "listRooms" | "listParticipants">,
  room: string | undefined,
  nowMs: () => number,
): () => Promise<readonly ListedRoom[] | undefined> {
  let reading: Promise<readonly ListedRoom[] | undefined> | undefined;
  let readMs = 0;
  const read = async () => {
    try {
      const codes =
        room === undefined ? (await client.listRooms()).map(({ code }) => code) : [room];
      return await Promise.all(
        codes
          .slice(0, maxRooms)
          .map(async (code) => ({ room: code, participants: await client.listParticipants(code) })),
      );
    } catch {
      // The other metrics are as true without it; the missing gauges show it.
      return undefined;
    }
  };
  return () => {
    if (reading === undefined || nowMs() - readMs >= keptMs) {
      readMs = nowMs();
      reading = read();
    }
    return reading;
  };
}
