import type { Participant } from "../../domain/participant.ts";
import type { StoredRegistration } from "../../domain/stored-registration.ts";
import { HubError } from "../../errors.ts";
import { type ClusterDirectory, DirectoryUnavailable } from "../directory.ts";

export interface RegistrationWriterOptions {
  directory: Pick<ClusterDirectory, "putRegistration" | "deleteRegistration">;
  /** Who has the id in a room of this hub now. */
  find: (roomCode: string, id: string) => Participant | undefined;
  /** Those of the rooms that have their home here. */
  participants: () => Iterable<Participant>;
  /** A participant as it is stored now. */
  encode: (participant: Participant) => StoredRegistration;
  /** Whether another hub is the room's home: its registrations are that hub's. */
  isElsewhere: (roomCode: string) => boolean;
  /** The same, or it goes there now. */
  isLeaving: (roomCode: string) => boolean;
  /**
   * Resolves when the directory still names this hub as the room's home: one that lost the room while it wrote may have
   * written after the next home had read.
   *
   * @throws HubError when it names another one. @throws DirectoryUnavailable
   */
  confirm: (roomCode: string) => Promise<void>;
  /** epoch ms */
  wallMs: () => number;
  reportBug: (error: unknown) => void;
}

/** One participant's registration between here and the directory. */
interface Own {
  readonly roomCode: string;
  readonly id: string;
  /** What is stored is not what the participant is now. */
  isDirty: boolean;
  /** epoch ms of what is stored; 0 for unknown */
  storedAt: number;
  /** The write that runs; changes that come meanwhile are one write after it. */
  writing: Promise<void> | undefined;
}

/** A registration is dropped by the directory a day after it was written last. */
const renewAfterMs = 3_600_000;
const writesAtOnce = 100;

/**
 * Keeps the directory's registrations of the rooms that have their home here as the participants are. What cannot be written
 * while the directory is away is written once it is back, the last value alone. One write after the other per participant.
 */
export class RegistrationWriter {
  readonly #options: RegistrationWriterOptions;
  /** by room and id */
  readonly #own = new Map<string, Own>();

  constructor(options: RegistrationWriterOptions) {
    this.#options = options;
  }

  /** How many are not stored as they are. */
  get pendingCount(): number {
    let count = 0;
    for (const { isDirty } of this.#own.values()) if (isDirty) count++;
    return count;
  }

  /** As `RegistrationKeeper.requireHere` of the operations. */
  requireHere(roomCode: string): void {
    if (!this.#options.isLeaving(roomCode)) return;
    throw new HubError("home_elsewhere", `Another hub is the home of room ${roomCode}.`);
  }

  /** As `RegistrationKeeper.changed` of the operations. */
  changed({ roomCode, id }: Pick<Participant, "roomCode" | "id">): Promise<void> {
    const own = this.#ownOf(roomCode, id);
    own.isDirty = true;
    return this.#begin(own);
  }

  /**
   * The directory is back, or may be: what was kept is written, a hundred at once. Resolves when that is over, and what is
   * written already. Never rejects.
   */
  async retry(): Promise<void> {
    const due = [...this.#own.values()].filter((own) => own.isDirty || own.writing !== undefined);
    for (let at = 0; at < due.length; at += writesAtOnce) {
      const batch = due.slice(at, at + writesAtOnce);
      await Promise.allSettled(batch.map((own) => this.#begin(own)));
    }
  }

  /** The directory lost all registrations: each is written by the next {@link retry}. */
  lost(): void {
    for (const { roomCode, id } of this.#options.participants()) {
      this.#ownOf(roomCode, id).isDirty = true;
    }
  }

  /** Once a minute: writes again what is to stay longer, that is, what is online. Never rejects. */
  async renew(): Promise<void> {
    const oldest = this.#options.wallMs() - renewAfterMs;
    for (const { roomCode, id, status, returning } of this.#options.participants()) {
      const isHere = status === "online" && returning === undefined;
      const own = isHere ? this.#ownOf(roomCode, id) : undefined;
      if (own !== undefined && own.storedAt <= oldest) own.isDirty = true;
    }
    await this.retry();
  }

  /** Another hub is the room's home: what was not written yet is that hub's to write. */
  release(roomCode: string): void {
    for (const [key, own] of this.#own) {
      if (own.roomCode !== roomCode) continue;
      own.isDirty = false;
      // One that is written is forgotten when that is over.
      if (own.writing === undefined) this.#own.delete(key);
    }
  }

  #ownOf(roomCode: string, id: string): Own {
    const key = keyOf(roomCode, id);
    let own = this.#own.get(key);
    if (own === undefined) {
      own = { roomCode, id, isDirty: false, storedAt: 0, writing: undefined };
      this.#own.set(key, own);
    }
    return own;
  }

  #begin(own: Own): Promise<void> {
    if (own.writing === undefined) {
      own.writing = this.#write(own).finally(() => {
        own.writing = undefined;
      });
      // Not every caller waits for it; a HubError is for those that do.
      own.writing.catch((error: unknown) => {
        if (!(error instanceof HubError)) this.#options.reportBug(error);
      });
    }
    return own.writing;
  }

  /** Until it is stored as it is, or the directory is away. */
  async #write(own: Own): Promise<void> {
    // Changes of one moment are one write.
    await Promise.resolve();
    const { roomCode, id } = own;
    const { isElsewhere, confirm } = this.#options;
    while (own.isDirty) {
      own.isDirty = false;
      try {
        if (!isElsewhere(roomCode)) await this.#store(own);
        await confirm(roomCode);
      } catch (error) {
        if (!(error instanceof DirectoryUnavailable)) {
          this.#forget(own);
          throw error;
        }
        // The participant is served meanwhile: what is acknowledged now is written later.
        own.isDirty = true;
        return;
      }
    }
    if (this.#options.find(roomCode, id) === undefined) this.#forget(own);
  }

  async #store(own: Own): Promise<void> {
    const { directory, find, encode } = this.#options;
    const participant = find(own.roomCode, own.id);
    if (participant === undefined) {
      await directory.deleteRegistration(own.roomCode, own.id);
      return;
    }
    const registration = encode(participant);
    await directory.putRegistration(registration);
    own.storedAt = registration.storedAt;
  }

  #forget(own: Own): void {
    const key = keyOf(own.roomCode, own.id);
    if (this.#own.get(key) === own) this.#own.delete(key);
  }
}

function keyOf(roomCode: string, id: string): string {
  return `${roomCode} ${id}`;
}
