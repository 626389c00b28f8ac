import { HubError } from "../errors.ts";
import type { StoredRegistration } from "../domain/stored-registration.ts";
import type { StoredRoom } from "../storage/room-store.ts";
import type { Home, StoredHome } from "./homes/room-home.ts";
import type { HubPresence } from "./hubs/hub-presence.ts";

/** How often a hub says that it is there. */
export const PRESENCE_INTERVAL_MS = 3_000;

/** What a room's home stored of a participant is kept so long after it was written last. */
export const REGISTRATION_KEPT_MS = 24 * 3_600_000;

/** Larger entries are refused: every hub holds all of them. */
export const MAX_ENTRY_BYTES = 64 * 1024;

/** The directory cannot be reached: nothing was changed, or it is unknown whether it was. Clients get 503. */
export class DirectoryUnavailable extends Error {
  override readonly name = "DirectoryUnavailable";
}

/** What a client is told then. */
export function clusterAway(cause?: unknown): HubError {
  return new HubError("cluster_unavailable", "This hub cannot reach its cluster at the moment.", {
    hint: "Rooms that are in use go on. Try again in some seconds.",
    cause,
  });
}

export interface DirectoryEntry<Value> {
  value: Value;
  /** rises with each change of any entry of its kind; never repeats */
  revision: number;
}

/**
 * What all hubs of a cluster know: rooms, their homes, and hubs. Changes are
 * compare-and-set: of two hubs that change the same entry at once, one wins, and the other learns it. Registrations alone
 * are written as they are and reported to no hub.
 *
 * Values go over the wire as JSON. They must not hold passwords, tokens, `authHeaders` or bodies.
 */
export interface ClusterDirectory {
  /**
   * Connects and reports all entries. Resolves when the listener has seen all of them. From then on it reconnects by
   * itself, with full jitter up to 5 s, and reports what changed in between.
   *
   * @throws DirectoryUnavailable when the first connection fails
   */
  open(listener: DirectoryListener): Promise<void>;
  /** false while changes cannot be made or are not seen */
  readonly isUp: boolean;
  /** ms on the clock it was made with: since when no change was missed. Undefined while down and while entries are reported again */
  readonly upSinceMs: number | undefined;

  /** What a failure of the server may take back of what was stored, as a sentence; undefined: nothing that is known of. */
  readonly warning: string | undefined;

  /**
   * @param expectedRevision - of the entry that is replaced; 0 when there must be none
   * @returns the new revision, once the change is stored; undefined when the entry is not at that revision
   * @throws DirectoryUnavailable
   * @throws HubError when the entry is larger than {@link MAX_ENTRY_BYTES}
   */
  putRoom(room: StoredRoom, expectedRevision: number): Promise<number | undefined>;
  /** @returns false when the entry is not at that revision. @throws DirectoryUnavailable */
  deleteRoom(code: string, expectedRevision: number): Promise<boolean>;
  /** What is stored now; where it is news, the listener gets it first. @throws DirectoryUnavailable */
  readRoom(code: string): Promise<DirectoryEntry<StoredRoom> | undefined>;

  /** As {@link putRoom}. */
  putHome(code: string, home: Home, expectedRevision: number): Promise<number | undefined>;
  /** As {@link deleteRoom}. */
  deleteHome(code: string, expectedRevision: number): Promise<boolean>;
  /** As {@link readRoom}; what cannot be read is warned about and counts as none. */
  readHome(code: string): Promise<StoredHome | undefined>;

  /**
   * Replaces what was stored of the participant. Only the room's home calls it. Stored once it resolves.
   *
   * @throws DirectoryUnavailable
   * @throws HubError when it is larger than {@link MAX_ENTRY_BYTES}
   */
  putRegistration(registration: StoredRegistration): Promise<void>;
  /** Also when there is none. @throws DirectoryUnavailable */
  deleteRegistration(roomCode: string, id: string): Promise<void>;
  /** Those of a room, without the ones that cannot be read, which are warned about. @throws DirectoryUnavailable */
  readRegistrations(roomCode: string): Promise<StoredRegistration[]>;

  /**
   * Written at once and every 3 s from then on, as it is at that time; removed by {@link close}, unless another process
   * under the same id has written since. Again: written at once.
   */
  announce(presence: () => HubPresence): void;

  /** Never rejects. The listener is not called any more. */
  close(): Promise<void>;
}

/**
 * What the directory reports. Each revision of an entry at most once, and the revisions of one entry only rise; those in
 * between may be left out. Between entries of different kinds there is no order. Own changes are reported, too, before or
 * after the call that made them returns.
 */
export interface DirectoryListener {
  /** @param room - undefined when it was deleted */
  roomChanged(code: string, room: StoredRoom | undefined, revision: number): void;
  /** @param home - undefined when it was deleted */
  homeChanged(code: string, home: Home | undefined, revision: number): void;
  /** The server kept them in memory and was restarted: each home has to write those of its rooms again, once it is up. */
  registrationsLost(): void;
  /**
   * Each beat of another hub, also of one that has this hub's id by mistake. What is reported on opening may be of a hub that died a while ago.
   *
   * @param presence - undefined when the hub left in order
   */
  hubSeen(hubId: string, presence: HubPresence | undefined): void;
  /** On each change of `isUp`, also on opening; all entries are reported before it says true. */
  stateChanged(isUp: boolean): void;
}
