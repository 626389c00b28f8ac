import type { Participant } from "../../domain/participant.ts";
import type { Registry } from "../../domain/registry.ts";
import type { StoredRegistration } from "../../domain/stored-registration.ts";
import { HubError } from "../../errors.ts";
import { OneByOne } from "../../one-by-one.ts";
import { type ClusterDirectory, DirectoryUnavailable } from "../directory.ts";
import type { RoomHomes } from "./room-homes.ts";

export interface RegistrationWriterOptions {
  directory: Pick<ClusterDirectory, "putRegistration" | "deleteRegistration">;
  registry: Pick<Registry, "findRoom" | "participants">;
  /** A participant as it is stored now. */
  encode: (participant: Participant) => StoredRegistration;
  homes: Pick<RoomHomes, "placeOf" | "isLeaving" | "epochHere" | "confirm">;
  /** epoch ms */
  wallMs: () => number;
  reportBug: (error: unknown) => void;
}

/** Whose registration it is. */
type Registered = Pick<Participant, "roomCode" | "id">;

/** A registration is dropped by the directory a day after it was written last. */
const renewAfterMs = 3_600_000;

/**
 * Keeps the directory's registrations of the rooms that have their home here as the participants are. What cannot be written
 * while the directory is away is written once it is back, the last value alone. One write after the other per participant.
 */
export class RegistrationWriter {
  readonly #options: RegistrationWriterOptions;
  readonly #writes = new OneByOne();
  /** writes that have not begun, by participant: they store what it is by then */
  readonly #next = new Map<string, Promise<void>>();
  /** what is not stored as it is, by participant */
  readonly #unstored = new Map<string, Registered>();
  /** epoch ms of what is stored, by participant */
  readonly #storedAt = new Map<string, number>();

  constructor(options: RegistrationWriterOptions) {
    this.#options = options;
  }

  /** How many are not stored as they are. */
  get pendingCount(): number {
    return this.#unstored.size;
  }

  /** As `RegistrationKeeper.requireHere` of the operations. */
  requireHere(roomCode: string): void {
    if (!this.#options.homes.isLeaving(roomCode)) return;
    throw new HubError("home_elsewhere", `Another hub is the home of room ${roomCode}.`);
  }

  /** As `RegistrationKeeper.changed` of the operations. */
  changed({ roomCode, id }: Registered): Promise<void> {
    const key = keyOf({ roomCode, id });
    this.#mark({ roomCode, id });
    const next = this.#next.get(key);
    if (next !== undefined) return next;
    const since = this.#options.homes.epochHere(roomCode);
    const written = this.#writes.run(key, () => {
      this.#next.delete(key);
      return this.#write({ roomCode, id }, since);
    });
    this.#next.set(key, written);
    // A HubError is for callers that wait for the write; not all do.
    written.catch((error: unknown) => {
      if (!(error instanceof HubError)) this.#options.reportBug(error);
    });
    return written;
  }

  /** The directory is back, or may be: what was kept is written. Never rejects. */
  async retry(): Promise<void> {
    await Promise.allSettled([...this.#unstored.values()].map((one) => this.changed(one)));
  }

  /** The directory lost all registrations: each is written by the next {@link retry}. */
  lost(): void {
    for (const { roomCode, id } of this.#options.registry.participants())
      this.#mark({ roomCode, id });
  }

  /** Once a minute: writes again what is to stay longer, that is, what is online. Never rejects. */
  async renew(): Promise<void> {
    const oldest = this.#options.wallMs() - renewAfterMs;
    for (const participant of this.#options.registry.participants()) {
      const { status, returning } = participant.presence;
      const isHere = status === "online" && returning === undefined;
      if (isHere && (this.#storedAt.get(keyOf(participant)) ?? 0) <= oldest)
        this.#mark(participant);
    }
    await this.retry();
  }

  /** Another hub is the room's home: what was not written yet is that hub's to write. */
  release(roomCode: string): void {
    for (const all of [this.#unstored, this.#storedAt]) {
      for (const key of all.keys()) if (key.startsWith(`${roomCode} `)) all.delete(key);
    }
  }

  #mark({ roomCode, id }: Registered): void {
    this.#unstored.set(keyOf({ roomCode, id }), { roomCode, id });
  }

  async #write(registered: Registered, since: number | undefined): Promise<void> {
    const { homes } = this.#options;
    const { roomCode } = registered;
    this.#unstored.delete(keyOf(registered));
    try {
      // Another home's registrations are that hub's.
      if (homes.placeOf(roomCode).kind !== "there") await this.#store(registered);
      // A hub that lost the room while it wrote may have written after the next home had read.
      await homes.confirm(roomCode, since);
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable)) throw error;
      // The participant is served meanwhile: what is acknowledged now is written later.
      this.#mark(registered);
    }
  }

  async #store({ roomCode, id }: Registered): Promise<void> {
    const { directory, registry, encode } = this.#options;
    const key = keyOf({ roomCode, id });
    const participant = registry.findRoom(roomCode)?.participants.get(id);
    if (participant === undefined) {
      this.#storedAt.delete(key);
      await directory.deleteRegistration(roomCode, id);
      return;
    }
    const registration = encode(participant);
    await directory.putRegistration(registration);
    this.#storedAt.set(key, registration.storedAt);
  }
}

function keyOf({ roomCode, id }: Registered): string {
  return `${roomCode} ${id}`;
}
