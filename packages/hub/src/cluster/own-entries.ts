import type { Participant } from "../domain/participant.ts";
import { type ClusterDirectory, DirectoryUnavailable } from "./directory.ts";
import type { ParticipantEntry } from "./participant-entry.ts";

export interface OwnEntriesOptions {
  directory: Pick<ClusterDirectory, "putParticipant" | "deleteParticipant" | "readParticipant">;
  /** The entry of a participant of this hub, as it is now. */
  encode: (participant: Participant) => ParticipantEntry;
  /** Another hub has the entry now. */
  lost: (participant: Participant, entry: ParticipantEntry, revision: number) => void;
  reportBug: (error: unknown) => void;
}

/** The state of one entry between here and the directory. */
interface Own {
  /** of what is stored; 0 for nothing */
  revision: number;
  /** The last one that the directory reported: after it was away, what it does not report is not there. */
  reported: number;
  /** What is stored is not what the participant is now. */
  isDirty: boolean;
  /** the write that runs; changes that come meanwhile are one write after it */
  writing: Promise<void> | undefined;
}

/**
 * Keeps the directory's entries of this hub's participants as they are here. Every change is a compare-and-set, so that
 * two hubs never both own a participant: the one whose write fails learns who does. What cannot be written while the
 * directory is away is written once it is back.
 */
export class OwnEntries {
  readonly #options: OwnEntriesOptions;
  readonly #own = new Map<Participant, Own>();
  /** Entries to delete of participants that left while the directory was away, with their revisions. */
  readonly #leftOver = new Map<Participant, number>();
  #retries = 0;

  constructor(options: OwnEntriesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#own.size;
  }

  /** @param revision - of its entry, which this hub has just written */
  add(participant: Participant, revision: number): void {
    this.#own.set(participant, { revision, reported: 0, isDirty: false, writing: undefined });
  }

  has(participant: Participant): boolean {
    return this.#own.has(participant);
  }

  /** Another hub owns it: its entry is that hub's. */
  release(participant: Participant): void {
    this.#own.delete(participant);
  }

  revisionOf(participant: Participant): number | undefined {
    return this.#own.get(participant)?.revision;
  }

  /** The directory reports its entry as this hub wrote it. */
  noteReport(participant: Participant, revision: number): void {
    const own = this.#own.get(participant);
    if (own !== undefined) own.reported = revision;
  }

  /** It is not what its entry says. */
  change(participant: Participant): void {
    const own = this.#own.get(participant);
    if (own === undefined) return;
    own.isDirty = true;
    own.writing ??= this.#write(participant, own);
  }

  /** Its entry as of all changes so far. @returns its revision; undefined when it could not be written */
  written(participant: Participant): number | undefined | Promise<number | undefined> {
    const own = this.#own.get(participant);
    if (own?.writing === undefined) return own?.revision;
    return own.writing.then(() => (own.isDirty ? undefined : own.revision));
  }

  /** Others took this hub for dead, and no hub for the owner. It is written as it is. @param revision - of their entry */
  reclaim(participant: Participant, revision: number): void {
    const own = this.#own.get(participant);
    if (own === undefined) return;
    own.revision = revision;
    this.change(participant);
  }

  /** It left: its entry is deleted. */
  remove(participant: Participant): void {
    const own = this.#own.get(participant);
    if (own === undefined) return;
    this.release(participant);
    void (own.writing ?? Promise.resolve()).then(() => this.#delete(participant, own.revision));
  }

  /** The directory is back and has reported all entries: what was kept is written, and what is missing. */
  retry(): void {
    this.#retries++;
    for (const [participant, own] of this.#own) {
      if (own.isDirty || own.reported !== own.revision) this.change(participant);
    }
    for (const [participant, revision] of [...this.#leftOver]) {
      void this.#delete(participant, revision);
    }
  }

  async #write(participant: Participant, own: Own): Promise<void> {
    // Changes of one moment are one write.
    await Promise.resolve();
    while (own.isDirty && this.#own.get(participant) === own) {
      const retries = this.#retries;
      own.isDirty = false;
      try {
        await this.#put(participant, own);
      } catch (error) {
        own.isDirty = true;
        if (!(error instanceof DirectoryUnavailable)) this.#options.reportBug(error);
        // The directory may have come back while this write was failing.
        if (retries === this.#retries) break;
      }
    }
    own.writing = undefined;
  }

  async #put(participant: Participant, own: Own): Promise<void> {
    const { directory, encode, lost } = this.#options;
    const entry = encode(participant);
    const revision = await directory.putParticipant(entry, own.revision);
    if (revision !== undefined) {
      own.revision = revision;
      return;
    }
    const found = await directory.readParticipant(entry.roomCode, entry.id);
    // Reading it may have told the replica, which acted.
    if (this.#own.get(participant) !== own) return;
    if (found !== undefined && isAnothers(found.value, entry)) {
      this.release(participant);
      lost(participant, found.value, found.revision);
      return;
    }
    // An own write whose acknowledgement was lost, or an entry that another hub took for left over or without an owner.
    own.revision = found?.revision ?? 0;
    own.isDirty = true;
  }

  async #delete(participant: Participant, revision: number): Promise<void> {
    const { directory, reportBug } = this.#options;
    for (;;) {
      const retries = this.#retries;
      try {
        await directory.deleteParticipant(participant.roomCode, participant.id, revision);
        this.#leftOver.delete(participant);
        return;
      } catch (error) {
        if (error instanceof DirectoryUnavailable) this.#leftOver.set(participant, revision);
        else reportBug(error);
        if (retries === this.#retries) return;
      }
    }
  }
}

/** Whether a stored entry belongs to another hub, or is that of another registration. */
export function isAnothers(
  stored: Pick<ParticipantEntry, "key" | "owner">,
  own: Pick<ParticipantEntry, "key" | "owner">,
): boolean {
  if (stored.key !== own.key) return true;
  return stored.owner !== null && stored.owner.bootId !== own.owner?.bootId;
}
