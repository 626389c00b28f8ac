import { type ClusterDirectory, clusterAway, DirectoryUnavailable } from "./cluster/directory.ts";
import { RegistrationWriter } from "./cluster/homes/registration-writer.ts";
import type { RoomHomes } from "./cluster/homes/room-homes.ts";
import type { Room } from "./domain/room.ts";
import { storedRegistrationOf } from "./domain/stored-registration.ts";
import type { EventBus } from "./events/bus.ts";
import type { OperationContext, RoomHome } from "./operations/context.ts";
import { restoreParticipants } from "./operations/homes/restore-participants.ts";
import { forgetSharedRoom, takeSharedRoom } from "./operations/rooms.ts";
import { noteStored, storedRoomOf, type StoredRoom } from "./storage/room-store.ts";

/** `lastUsedAt` alone is written at most this often. Contract §8. */
const usedWriteMs = 10 * 60_000;

export interface ClusterRoomsParts extends Pick<
  OperationContext,
  "registry" | "vault" | "roomPasswords" | "world"
> {
  operations: () => OperationContext;
  bus: () => EventBus;
}

export interface ClusterRoomsOptions {
  parts: ClusterRoomsParts;
  directory: ClusterDirectory;
  homes: RoomHomes;
  /** this one, as it is stored */
  computer: () => string;
  reportBug: (error: unknown) => void;
}

/** A room as the directory has it. */
interface Known {
  revision: number;
  /** as stored, for comparison */
  text: string;
  lastUsedAt: number;
}

/**
 * What the directory keeps of rooms, and this hub's registry, in step with each other: all hubs have all rooms, and a code
 * belongs to one room.
 */
export class ClusterRooms implements RoomHome {
  readonly registrations: RegistrationWriter;
  readonly #options: ClusterRoomsOptions;
  readonly #known = new Map<string, Known>();
  /** The rooms that were there before this hub are known. */
  #areKnown = false;

  constructor(options: ClusterRoomsOptions) {
    this.#options = options;
    const { parts, directory, homes, computer, reportBug } = options;
    const { registry, vault, world } = parts;
    this.registrations = new RegistrationWriter({
      ...{ directory, registry, homes, reportBug, wallMs: () => world.wallMs() },
      encode: (participant) =>
        storedRegistrationOf(participant, {
          hasAuthHeaders: vault.has(participant.key),
          computer: computer(),
          storedAt: Math.round(world.wallMs()),
        }),
    });
  }

  /** Stores a new or changed room. */
  async keep(room: Room): Promise<boolean> {
    const stored = this.#stored(room);
    const known = this.#known.get(room.code);
    if (stored === undefined || known?.text === textOf(stored)) return true;
    return reachable(() => this.#write(stored, known?.revision ?? 0));
  }

  /** A room is dropped everywhere. One that another hub has used since stays. */
  async drop({ code }: Room): Promise<void> {
    const { homes, directory } = this.#options;
    homes.dropped(code);
    const known = this.#known.get(code);
    if (known === undefined) return;
    this.#known.delete(code);
    await this.#quietly(() => directory.deleteRoom(code, known.revision));
  }

  isOurs(code: string): boolean {
    return this.#options.homes.isOurs(code);
  }

  /** What the directory reports. */
  changed(code: string, room: StoredRoom | undefined, revision: number): void {
    const known = this.#known.get(code)?.revision ?? 0;
    // Of a deletion that was not seen, the revision is that of what was deleted.
    if (room === undefined ? revision < known : revision <= known) return;
    const { parts, homes } = this.#options;
    if (room === undefined) {
      this.#known.delete(code);
      homes.dropped(code);
      forgetSharedRoom(parts.operations(), code);
      return;
    }
    this.#known.set(code, knownOf(room, revision));
    // Of rooms that were there before this hub, the event is in another life.
    takeSharedRoom(parts.operations(), room, this.#areKnown && !parts.bus().hasCreated(code));
  }

  /** All that was there has been reported. */
  opened(): void {
    this.#areKnown = true;
  }

  /**
   * A room that is stored, though it has not been reported yet, is in the registry when this resolves.
   *
   * @throws HubError `cluster_unavailable`
   */
  async catchUp(code: string): Promise<void> {
    const found = await reachable(() => this.#options.directory.readRoom(code));
    if (found !== undefined) this.changed(code, found.room, found.revision);
  }

  /** Writes when rooms were used last, of those where that was long ago. */
  async noteUse(): Promise<void> {
    const { registry, world } = this.#options.parts;
    for (const room of registry.rooms()) {
      // To the other hubs a room looks empty whose participants are here.
      if (room.participants.size > 0) room.lastUsedAt = world.wallMs();
      const known = this.#known.get(room.code);
      const stored = this.#stored(room);
      if (known === undefined || stored === undefined) continue;
      if (room.lastUsedAt - known.lastUsedAt < usedWriteMs) continue;
      await this.#quietly(() => this.#write(stored, known.revision));
    }
  }

  /** This hub is the room's home after one that was killed: who registered there is back soon. */
  async restore(code: string): Promise<void> {
    const { parts, directory, computer } = this.#options;
    const registrations = await directory.readRegistrations(code);
    if (parts.registry.findRoom(code) === undefined) return;
    restoreParticipants(parts.operations(), code, registrations, computer());
  }

  /** What of a room is stored; undefined while its password is being hashed. */
  #stored(room: Room): StoredRoom | undefined {
    const digest = this.#options.parts.roomPasswords.get(room.code)?.stored;
    const isHashing = room.isPasswordProtected && digest === undefined;
    return isHashing ? undefined : storedRoomOf(room, digest);
  }

  /** @returns false when the room is not at that revision @throws DirectoryUnavailable */
  async #write(room: StoredRoom, expectedRevision: number): Promise<boolean> {
    const { directory, parts } = this.#options;
    const revision = await directory.putRoom(room, expectedRevision);
    if (revision === undefined) return false;
    noteStored(parts.registry.findRoom(room.code), room);
    if (revision > (this.#known.get(room.code)?.revision ?? 0))
      this.#known.set(room.code, knownOf(room, revision));
    return true;
  }

  async #quietly(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable)) this.#options.reportBug(error);
    }
  }
}

async function reachable<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof DirectoryUnavailable ? clusterAway(error) : error;
  }
}

function knownOf(room: StoredRoom, revision: number): Known {
  return { revision, text: textOf(room), lastUsedAt: room.lastUsedAt };
}

/** Without the time of its last use, which is written by a rule of its own. */
function textOf(room: StoredRoom): string {
  return JSON.stringify({ ...room, lastUsedAt: 0 });
}
