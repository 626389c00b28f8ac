import type { HubIdentity, Participant } from "../domain/participant.ts";
import { type ClusterDirectory, DirectoryUnavailable } from "./directory.ts";
import type { ParticipantEntry } from "./participant-entry.ts";
import type { Replica } from "./replica.ts";

export interface OrphansOptions {
  directory: Pick<ClusterDirectory, "putParticipant" | "deleteParticipant" | "readParticipant">;
  replica: Pick<Replica, "participantChanged">;
  participants: () => Iterable<Participant>;
  /** Whether the hub of this run is dead, as far as this hub may judge. */
  isDead: (hub: HubIdentity) => boolean;
  entryOf: (participant: Participant) => ParticipantEntry;
  offlineAfterMs: number;
  expireAfterMs: number;
  nowMs: () => number;
  /** uniform in `[0, 1)` */
  random: () => number;
  /** This hub won: it alone shows the event. */
  announce: (participant: Participant, what: "updated" | "offline" | "expired") => void;
  reportBug: (error: unknown) => void;
}

interface Orphan {
  /** ms on the hub's clock: when this hub noticed that the owner is dead */
  readonly sinceMs: number;
  /** Not all hubs try at once. */
  tryMs: number;
  isWriting: boolean;
}

const tryWithinMs = 250;

/**
 * Participants whose hub is dead. A hub's death is not its participants' silence: each is offline 30 s after it, unless
 * another hub took it, and leaves after 24 h. All hubs see that; the one whose compare-and-set succeeds acts. Contract §8.
 */
export class Orphans {
  readonly #options: OrphansOptions;
  readonly #orphans = new Map<Participant, Orphan>();

  constructor(options: OrphansOptions) {
    this.#options = options;
  }

  /** Looks for what is due. Begins writes, and does not wait for them. */
  tick(): void {
    const { participants, nowMs } = this.#options;
    const now = nowMs();
    const seen = new Set<Participant>();
    for (const participant of participants()) {
      const { remote } = participant;
      if (remote === undefined || !this.#isOrphan(remote.owner)) continue;
      seen.add(participant);
      this.#step(participant, now);
    }
    for (const participant of this.#orphans.keys()) {
      if (!seen.has(participant)) this.#orphans.delete(participant);
    }
  }

  #isOrphan(owner: HubIdentity | undefined): boolean {
    return owner === undefined || this.#options.isDead(owner);
  }

  #step(participant: Participant, nowMs: number): void {
    const { offlineAfterMs, expireAfterMs, random } = this.#options;
    let orphan = this.#orphans.get(participant);
    if (orphan === undefined) {
      orphan = { sinceMs: nowMs, tryMs: nowMs + random() * tryWithinMs, isWriting: false };
      this.#orphans.set(participant, orphan);
    }
    if (orphan.isWriting || nowMs < orphan.tryMs) return;
    const goneMs = nowMs - orphan.sinceMs;
    const due =
      participant.remote?.owner !== undefined
        ? "updated"
        : participant.status === "online"
          ? goneMs >= offlineAfterMs && ("offline" as const)
          : goneMs >= expireAfterMs && ("expired" as const);
    if (due !== false) void this.#act(participant, orphan, due);
  }

  async #act(
    participant: Participant,
    orphan: Orphan,
    what: "updated" | "offline" | "expired",
  ): Promise<void> {
    const { announce, random, nowMs, reportBug } = this.#options;
    orphan.isWriting = true;
    try {
      if (await this.#write(participant, what)) announce(participant, what);
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable)) reportBug(error);
    } finally {
      orphan.isWriting = false;
      orphan.tryMs = nowMs() + tryWithinMs + random() * tryWithinMs;
    }
  }

  /** @returns whether this hub was first */
  async #write(
    participant: Participant,
    what: "updated" | "offline" | "expired",
  ): Promise<boolean> {
    const { directory, replica, entryOf } = this.#options;
    const { roomCode, id, remote } = participant;
    if (remote === undefined) return false;
    const { revision: before } = remote;
    if (what === "expired") return directory.deleteParticipant(roomCode, id, before);
    const entry: ParticipantEntry = {
      ...entryOf(participant),
      owner: null,
      status: what === "offline" ? "offline" : participant.status,
    };
    const revision = await directory.putParticipant(entry, before);
    if (revision === undefined) return false;
    // The event that follows shows it as it is now.
    replica.participantChanged(roomCode, id, entry, revision);
    return true;
  }
}
