import { RoomhubError } from "@roomhub/client";
import { type Room, timeoutSignal } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { defaultHubUrl } from "./hub-address.ts";

/** A room, and the hub that has it. */
export interface FoundRoom {
  hubUrl: string;
  room: Room;
}

export interface Found {
  rooms: FoundRoom[];
  /** Hubs that responded, with or without rooms. */
  hubUrls: string[];
  /** Why the network could not be searched, if so. */
  problem: string | undefined;
}

/** Hubs respond within a tenth of this; idle Wi-Fi takes longer. */
export const searchMs = 2_000;
const listMs = 2_000;

/**
 * The rooms of the hubs on this machine and its networks. A room reachable at two addresses is listed once, at the address
 * found first.
 *
 * @param isWanted - finding such a room ends the search
 */
export async function findRooms(
  context: CliContext,
  isWanted: (room: Room) => boolean = () => false,
): Promise<Found> {
  const found: Found = { rooms: [], hubUrls: [], problem: undefined };
  const queries = new Map<string, Promise<void>>();
  const ended = Promise.withResolvers<void>();
  const timer = context.world.setTimeout(ended.resolve, searchMs);

  function query(hubUrl: string): void {
    if (queries.has(hubUrl)) return;
    const signal = timeoutSignal(context.world, listMs);
    const listing = context.createClient(hubUrl).listRooms({ signal });
    queries.set(
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
          // Without a room list there is nothing to join.
        },
      ),
    );
  }

  // First, so that its rooms are listed at the address that always works here.
  query(defaultHubUrl);
  const stop = await context.mdns.browse(ipv4Addresses(context), query, (reason) => {
    found.problem ??= reason;
  });
  await ended.promise;
  context.world.clearTimeout(timer);
  await stop();
  if (!found.rooms.some(({ room }) => isWanted(room))) await Promise.all(queries.values());
  return found;
}

/** Drops codes that cannot be part of an invite URL, since responses from the network are untrusted. */
export function joinable(rooms: readonly Room[]): Room[] {
  return rooms.filter(({ code }) => /^[A-Za-z0-9]{1,32}$/.test(code));
}

/** The addresses to search from; loopback when there are none. */
export function ipv4Addresses(context: CliContext): string[] {
  const addresses = context
    .lanAddresses()
    .map(({ address }) => address)
    .filter((address) => !address.includes(":"));
  return addresses.length > 0 ? addresses : ["127.0.0.1"];
}

/**
 * Whether to use this machine's hub: it has the room, or refuses the request for another reason. Otherwise the room may be
 * at another hub.
 */
export function isAtDefaultHub(context: CliContext, code: string): Promise<boolean> {
  return context
    .createClient(defaultHubUrl)
    .getRoom(code, { signal: timeoutSignal(context.world, searchMs) })
    .then(
      () => true,
      (error: unknown) => error instanceof RoomhubError && error.status !== 404,
    );
}
