import type { HubIdentity, Participant } from "../domain/participant.ts";
import type { Registry } from "../domain/registry.ts";
import { modelChanged, type Room } from "../domain/room.ts";
import { isAnothers, type OwnEntries } from "./own-entries.ts";
import type { Clocks, ParticipantEntry } from "./participant-entry.ts";
import { remoteParticipant, updateRemote } from "./remote-participant.ts";
import type { LearnedChange } from "./bus/unshown-changes.ts";

export interface ReplicaOptions {
  self: HubIdentity;
  registry: () => Registry;
  own: OwnEntries;
  clocks: Clocks;
  /** A participant of this hub belongs to another one now: its path here is closed. `remote` is set already. */
  disowned: (participant: Participant) => void;
  /** Which machine a remote participant is in front of; undefined for one that is not remote any more. */
  atMachine: (participant: Participant, machineKey: string | undefined) => void;
  /** A remote participant of the room is another one, or came, or left. */
  changed: (roomCode: string) => void;
  /** The same, of each participant, and before it: what watchers here are to be shown. */
  learned: (participant: Participant, change: LearnedChange) => void;
}

/**
 * The participants of other hubs in this hub's registry, as the directory reports them. What this hub owns is left
 * alone, unless the directory says that another hub does.
 */
export class Replica {
  readonly #options: ReplicaOptions;
  /** entries of rooms that are not known yet, by room and id */
  readonly #early = new Map<string, Map<string, { entry: ParticipantEntry; revision: number }>>();
  readonly #remote = new Set<Participant>();

  constructor(options: ReplicaOptions) {
    this.#options = options;
  }

  /** How many participants of the registry belong to other hubs. */
  get remoteCount(): number {
    return this.#remote.size;
  }

  /** Up to which revision of its entry a participant is known here; 0 for one that is not. */
  revisionOf(roomCode: string, id: string): number {
    const participant = this.#options.registry().findRoom(roomCode)?.participants.get(id);
    if (participant === undefined) return 0;
    return participant.remote?.revision ?? this.#options.own.revisionOf(participant) ?? 0;
  }

  /** @param entry - undefined when it was deleted */
  participantChanged(
    roomCode: string,
    id: string,
    entry: ParticipantEntry | undefined,
    revision: number,
  ): void {
    const room = this.#options.registry().findRoom(roomCode);
    if (room === undefined) {
      this.#keepEarly(roomCode, id, entry, revision);
      return;
    }
    const existing = room.participants.get(id);
    if (entry === undefined) this.#deleted(room, existing, revision);
    else this.#changed(room, existing, entry, revision);
  }

  /** The room is in the registry now: so are those of its participants that were reported before. */
  roomAdded(roomCode: string): void {
    const early = this.#early.get(roomCode);
    this.#early.delete(roomCode);
    for (const [id, { entry, revision }] of early ?? []) {
      this.participantChanged(roomCode, id, entry, revision);
    }
  }

  /** A remote participant is this hub's own from now on, or left with its room. */
  forget(participant: Participant): void {
    if (participant.remote === undefined) return;
    participant.remote = undefined;
    this.#remote.delete(participant);
    this.#options.atMachine(participant, undefined);
  }

  /** Another hub owns what this hub owned. */
  disown(participant: Participant, entry: ParticipantEntry, revision: number): void {
    const { own, clocks, disowned, changed, learned } = this.#options;
    own.release(participant);
    updateRemote(participant, entry, revision, clocks);
    this.#remote.add(participant);
    disowned(participant);
    // Closing its path wrote down that it is closed; with its owner it may be open.
    updateRemote(participant, entry, revision, clocks);
    this.#place(participant);
    learned(participant, "changed");
    changed(participant.roomCode);
  }

  #changed(
    room: Room,
    existing: Participant | undefined,
    entry: ParticipantEntry,
    revision: number,
  ): void {
    const { self, own } = this.#options;
    const isOwn = entry.owner?.bootId === self.bootId;
    if (existing === undefined) {
      // One that is being registered here, or has just left, is no remote participant.
      if (!isOwn) this.#add(room, entry, revision);
      return;
    }
    if (isOwn && existing.remote === undefined) own.noteReport(existing, revision);
    if (revision <= this.revisionOf(room.code, existing.id)) return;
    if (existing.remote !== undefined) {
      if (!isOwn) this.#update(room, existing, entry, revision);
      return;
    }
    if (isOwn || !own.has(existing)) return;
    if (!isAnothers(entry, { key: existing.key, owner: self })) own.reclaim(existing, revision);
    else if (existing.key === entry.key) this.disown(existing, entry, revision);
    else {
      // Another registration took the id.
      this.disown(existing, entry, revision);
      this.#replace(room, existing, entry, revision);
    }
  }

  #add(room: Room, entry: ParticipantEntry, revision: number): void {
    const { registry, clocks, changed, learned } = this.#options;
    const participant = remoteParticipant(entry, revision, clocks);
    registry().add(room, participant);
    this.#remote.add(participant);
    this.#place(participant);
    learned(participant, "came");
    changed(room.code);
  }

  #place(participant: Participant): void {
    this.#options.atMachine(participant, participant.remote?.machineKey);
  }

  #update(room: Room, existing: Participant, entry: ParticipantEntry, revision: number): void {
    if (existing.key !== entry.key) {
      this.#replace(room, existing, entry, revision);
      return;
    }
    const { model, endpoint } = existing;
    updateRemote(existing, entry, revision, this.#options.clocks);
    this.#place(existing);
    if (existing.model !== model || existing.endpoint !== endpoint) modelChanged(room, existing);
    this.#options.learned(existing, "changed");
    this.#options.changed(room.code);
  }

  #replace(room: Room, existing: Participant, entry: ParticipantEntry, revision: number): void {
    this.#remove(room, existing);
    this.#add(room, entry, revision);
  }

  #deleted(room: Room, existing: Participant | undefined, revision: number): void {
    // Of a deletion that was not seen, the revision is that of what was deleted.
    if (existing === undefined || revision < this.revisionOf(room.code, existing.id)) return;
    // Of an own one the deletion was a mistake: the next write of its entry finds none and makes it.
    if (existing.remote === undefined) this.#options.own.change(existing);
    else this.#remove(room, existing);
  }

  #remove(room: Room, existing: Participant): void {
    this.#remote.delete(existing);
    this.#options.atMachine(existing, undefined);
    this.#options.registry().remove(room, existing);
    this.#options.learned(existing, "left");
    this.#options.changed(room.code);
  }

  #keepEarly(
    roomCode: string,
    id: string,
    entry: ParticipantEntry | undefined,
    revision: number,
  ): void {
    const early = this.#early.get(roomCode) ?? new Map();
    if (entry === undefined) early.delete(id);
    else early.set(id, { entry, revision });
    if (early.size === 0) this.#early.delete(roomCode);
    else this.#early.set(roomCode, early);
  }
}
