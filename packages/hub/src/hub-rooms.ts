import type { World } from "@roomhub/protocol";
import type { ClusterDirectory } from "./cluster/directory.ts";
import { RegistrationWriter } from "./cluster/homes/registration-writer.ts";
import type { RoomHomes } from "./cluster/homes/room-homes.ts";
import { SharedRooms } from "./cluster/shared-rooms.ts";
import type { RoomPassword } from "./credentials/passwords.ts";
import type { AuthHeaderVault } from "./credentials/vault.ts";
import type { Registry } from "./domain/registry.ts";
import type { Room } from "./domain/room.ts";
import { storedRegistrationOf } from "./domain/stored-registration.ts";
import type { EventBus } from "./events/bus.ts";
import type { OperationContext, RoomHome } from "./operations/context.ts";
import { restoreParticipants } from "./operations/homes/restore-participants.ts";
import { forgetSharedRoom, takeSharedRoom } from "./operations/rooms.ts";
import { noteStored, storedRoomOf, type StoredRoom } from "./storage/room-store.ts";

export interface ClusterRoomsParts {
  registry: Registry;
  vault: AuthHeaderVault;
  roomPasswords: Map<string, RoomPassword>;
  world: World;
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

/** What the directory keeps of rooms, and this hub's registry, in step with each other. */
export class ClusterRooms implements RoomHome {
  readonly registrations: RegistrationWriter;
  readonly #options: ClusterRoomsOptions;
  readonly #shared: SharedRooms;
  /** The rooms that were there before this hub are known. */
  #areKnown = false;

  constructor(options: ClusterRoomsOptions) {
    this.#options = options;
    const { parts, directory, homes, computer, reportBug } = options;
    const { registry, vault, roomPasswords, world } = parts;
    this.registrations = new RegistrationWriter({
      ...{ directory, registry, homes, reportBug, wallMs: () => world.wallMs() },
      encode: (participant) =>
        storedRegistrationOf(participant, {
          hasAuthHeaders: vault.has(participant.key),
          computer: computer(),
          storedAt: Math.round(world.wallMs()),
        }),
    });
    this.#shared = new SharedRooms({
      ...{ directory, reportBug },
      stored: (room) => {
        const digest = roomPasswords.get(room.code)?.stored;
        if (room.isPasswordProtected && digest === undefined) return undefined;
        return storedRoomOf(room, digest);
      },
      apply: (code, room) => this.#apply(code, room),
      wrote: (room) => noteStored(registry.findRoom(room.code), room),
    });
  }

  keep(room: Room): Promise<boolean> {
    return this.#shared.keep(room);
  }

  drop({ code }: Room): Promise<void> {
    this.#options.homes.dropped(code);
    return this.#shared.drop(code);
  }

  isOurs(code: string): boolean {
    return this.#options.homes.isOurs(code);
  }

  /** What the directory reports. */
  changed(code: string, room: StoredRoom | undefined, revision: number): void {
    this.#shared.changed(code, room, revision);
  }

  /** All that was there has been reported. */
  opened(): void {
    this.#areKnown = true;
  }

  /** Looks for a room that another hub may have made just now. @throws HubError `cluster_unavailable` */
  catchUp(code: string): Promise<void> {
    return this.#shared.catchUp(code);
  }

  /** Writes when rooms were used last. */
  noteUse(): void {
    const { registry, world } = this.#options.parts;
    // To the other hubs a room looks empty whose participants are here.
    for (const room of registry.rooms())
      if (room.participants.size > 0) room.lastUsedAt = world.wallMs();
    void this.#shared.noteUse(registry.rooms());
  }

  /** This hub is the room's home after one that was killed: who registered there is back soon. */
  async restore(code: string): Promise<void> {
    const { parts, directory, computer } = this.#options;
    const registrations = await directory.readRegistrations(code);
    if (parts.registry.findRoom(code) === undefined) return;
    restoreParticipants(parts.operations(), code, registrations, computer());
  }

  #apply(code: string, stored: StoredRoom | undefined): void {
    const { parts, homes } = this.#options;
    if (stored === undefined) {
      homes.dropped(code);
      forgetSharedRoom(parts.operations(), code);
      return;
    }
    // Of rooms that were there before this hub, the event is in another life.
    takeSharedRoom(parts.operations(), stored, this.#areKnown && !parts.bus().hasCreated(code));
  }
}
