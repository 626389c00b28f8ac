import type { Room } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { usualHubUrl } from "./hub-address.ts";

/** A room that can be joined, and where. */
export interface FoundRoom {
  hubUrl: string;
  room: Room;
}

export interface Found {
  rooms: FoundRoom[];
  /** Hubs that answered, with rooms or without. */
  hubUrls: string[];
  /** Why the network could not be searched, if so. */
  problem: string | undefined;
}

/** Hubs answer within a tenth of that; sleeping Wi-Fi takes longer. */
export const searchMs = 2_000;
const healthTimeoutMs = 2_000;

/**
 * The rooms of the hubs on this machine and its networks. A room that is reached in two ways is there once, by the way
 * that was found first.
 *
 * @param isWanted - finding such a room ends the search
 */
export async function findRooms(
  context: CliContext,
  isWanted: (room: Room) => boolean = () => false,
): Promise<Found> {
  const found: Found = { rooms: [], hubUrls: [], problem: undefined };
  const asked = new Map<string, Promise<void>>();
  const ended = Promise.withResolvers<void>();
  const cancel = context.after(searchMs, ended.resolve);

  function ask(hubUrl: string): void {
    if (asked.has(hubUrl)) return;
    const signal = AbortSignal.timeout(healthTimeoutMs);
    const listing = context.createClient(hubUrl).listRooms({ signal });
    asked.set(
      hubUrl,
      listing.then(
        (rooms) => {
          found.hubUrls.push(hubUrl);
          for (const room of joinable(rooms)) {
            if (found.rooms.some((known) => known.room.id === room.id)) continue;
            found.rooms.push({ hubUrl, room });
            if (isWanted(room)) ended.resolve();
          }
        },
        () => {
          // Whoever does not answer this is no hub to join.
        },
      ),
    );
  }

  // First, and so its rooms are shown under the address that always works here.
  ask(usualHubUrl);
  const stop = await context.mdns.browse(ipv4Addresses(context), ask, (reason) => {
    found.problem ??= reason;
  });
  await ended.promise;
  cancel();
  await stop();
  if (!found.rooms.some(({ room }) => isWanted(room))) await Promise.all(asked.values());
  return found;
}

/** Whoever answers may be a stranger: what cannot stand in an invite URL is no room. */
export function joinable(rooms: readonly Room[]): Room[] {
  return rooms.filter(({ code }) => /^[A-Za-z0-9]{1,32}$/.test(code));
}

/** The networks to speak on; this machine alone when there are none. */
export function ipv4Addresses(context: CliContext): string[] {
  const addresses = context
    .lanAddresses()
    .map(({ address }) => address)
    .filter((address) => !address.includes(":"));
  return addresses.length > 0 ? addresses : ["127.0.0.1"];
}
