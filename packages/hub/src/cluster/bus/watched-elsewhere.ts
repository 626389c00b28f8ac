import type { HubIdentity } from "../../domain/participant.ts";
import { readWatchNotice } from "./watch-notice.ts";

/** What another hub has told of the rooms that are watched there. */
interface Told {
  revision: number;
  /** undefined for every room */
  rooms: Set<string> | undefined;
}

interface OtherHub {
  bootId: string;
  isPresent: boolean;
  /** of its presence: what it must have told by now */
  revision: number;
  told: Told | undefined;
}

/**
 * Which rooms are watched at the other hubs of the cluster. Of a hub that has not told, or not all, every room counts as
 * watched: an event that is sent in vain costs little, one that is not sent is lost.
 */
export class WatchedElsewhere {
  /** by hub id */
  readonly #hubs = new Map<string, OtherHub>();

  isWatched(roomCode: string): boolean {
    for (const { isPresent, revision, told } of this.#hubs.values()) {
      if (!isPresent) continue;
      if (told?.rooms === undefined || told.revision < revision) return true;
      if (told.rooms.has(roomCode)) return true;
    }
    return false;
  }

  /** A beat of a hub. @param revision - of its watches; undefined from a hub that does not tell them */
  seen(hub: HubIdentity, revision: number | undefined): void {
    const known = this.#lifeOf(hub);
    known.isPresent = true;
    known.revision = revision ?? Number.POSITIVE_INFINITY;
  }

  /** It left, or is dead; its link may still be open. */
  gone(hubId: string): void {
    const known = this.#hubs.get(hubId);
    if (known === undefined) return;
    known.isPresent = false;
    if (known.told === undefined) this.#hubs.delete(hubId);
  }

  /** The link over which the hub tells is lost. */
  linkClosed({ hubId, bootId }: HubIdentity): void {
    const known = this.#hubs.get(hubId);
    if (known?.bootId !== bootId) return;
    known.told = undefined;
    if (!known.isPresent) this.#hubs.delete(hubId);
  }

  /** @returns false for notices about something else */
  noticed(hub: HubIdentity, notice: object): boolean {
    const read = readWatchNotice(notice);
    if (read === undefined) return false;
    const known = this.#lifeOf(hub);
    const { revision } = read;
    if (read.kind === "watches") {
      known.told = { revision, rooms: read.rooms && new Set(read.rooms) };
      return true;
    }
    const { told } = known;
    // One before it was dropped: all of them follow.
    if (told?.rooms === undefined || told.revision + 1 !== revision) known.told = undefined;
    else {
      told.revision = revision;
      if (read.kind === "watch") told.rooms.add(read.roomCode);
      else told.rooms.delete(read.roomCode);
    }
    return true;
  }

  #lifeOf({ hubId, bootId }: HubIdentity): OtherHub {
    const known = this.#hubs.get(hubId);
    if (known?.bootId === bootId) return known;
    const life = { bootId, isPresent: known?.isPresent ?? false, revision: 0, told: undefined };
    this.#hubs.set(hubId, life);
    return life;
  }
}
