import type { StoredRoom } from "../storage/room-store.ts";
import { type ClusterDirectory, DirectoryUnavailable } from "./directory.ts";

/** What became of a room that was to be imported. */
export interface ImportedRoom {
  code: string;
  name: string;
  /** `unchanged`: the cluster had the same room already */
  result: "imported" | "unchanged" | "refused";
  /** of a refused one */
  reason?: string;
}

/**
 * Puts rooms that were kept in a state file into the directory of a cluster, and replaces none that is there. Yields each
 * once the directory has it, or has refused it.
 *
 * @throws DirectoryUnavailable: whether the room after the last one is stored is then unknown
 */
export async function* importRooms(
  directory: Pick<ClusterDirectory, "putRoom" | "readRoom">,
  rooms: Iterable<StoredRoom>,
): AsyncGenerator<ImportedRoom, void, undefined> {
  for (const room of rooms) {
    const { code, name } = room;
    yield { code, name, ...(await importRoom(directory, room)) };
  }
}

async function importRoom(
  directory: Pick<ClusterDirectory, "putRoom" | "readRoom">,
  room: StoredRoom,
): Promise<Pick<ImportedRoom, "result" | "reason">> {
  try {
    if ((await directory.putRoom(room, 0)) !== undefined) return { result: "imported" };
    const present = (await directory.readRoom(room.code))?.room;
    const reason = whyRefused(room, present);
    return reason === undefined ? { result: "unchanged" } : { result: "refused", reason };
  } catch (error) {
    if (error instanceof DirectoryUnavailable || !(error instanceof Error)) throw error;
    // It is too large, or the one that is there was written by another version.
    return { result: "refused", reason: error.message };
  }
}

/** @returns undefined for the same room */
function whyRefused(room: StoredRoom, present: StoredRoom | undefined): string | undefined {
  if (present === undefined) return "a hub removed the cluster's room with this code just now";
  if (present.id !== room.id) return "another room of the cluster has this code";
  const differing = differences(room, present);
  if (differing.length === 0) return undefined;
  return `the cluster's room has another ${differing.join(" and another ")}`;
}

/** As people call them. When a room was used last changes by itself. */
const compared = {
  name: "name",
  hostId: "host",
  createdAt: "time of creation",
  passwordDigest: "password",
  hostTokenDigest: "host token",
  aliases: "list of aliases",
  closed: "access (open or closed)",
  keys: "list of keys",
} as const satisfies Partial<Record<keyof StoredRoom, string>>;

function differences(one: StoredRoom, other: StoredRoom): string[] {
  const fields = Object.keys(compared) as (keyof typeof compared)[];
  return fields
    .filter((field) => JSON.stringify(one[field]) !== JSON.stringify(other[field]))
    .map((field) => compared[field]);
}
