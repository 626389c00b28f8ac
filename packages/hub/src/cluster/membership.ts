import type { HubIdentity, Participant } from "../domain/participant.ts";
import { HubError } from "../errors.ts";
import { type ClusterDirectory, DirectoryUnavailable } from "./directory.ts";
import type { OwnEntries } from "./own-entries.ts";
import type { ParticipantEntry } from "./participant-entry.ts";
import type { Replica } from "./replica.ts";

/** What only the hub that owns a participant knows of it. */
export interface OwnerSecrets {
  instructions: string | undefined;
  authHeaders: Record<string, string>;
}

export interface MembershipOptions {
  self: HubIdentity;
  directory: ClusterDirectory;
  own: OwnEntries;
  replica: Replica;
  entryOf: (participant: Participant) => ParticipantEntry;
  /** epoch ms */
  wallMs: () => number;
  /** Asks the hub that owns a participant; undefined when it does not respond. */
  askSecrets: (owner: HubIdentity, participant: Participant) => Promise<OwnerSecrets | undefined>;
  /** The participant is this hub's own now: its paths here are made. `remote` is cleared already. */
  adopted: (participant: Participant, secrets: OwnerSecrets | undefined) => void;
}

/** This hub's part in its cluster, as operations use it. Contract §8. */
export class Membership {
  readonly #options: MembershipOptions;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  get remoteCount(): number {
    return this.#options.replica.remoteCount;
  }

  async claim(participant: Participant, previous: Participant | undefined): Promise<boolean> {
    const { directory, own, replica, entryOf } = this.#options;
    const { roomCode, id } = participant;
    const expected = previous === undefined ? 0 : replica.revisionOf(roomCode, id);
    const revision = await reachable(() =>
      directory.putParticipant(entryOf(participant), expected),
    );
    if (revision === undefined) {
      await this.catchUp(roomCode, id);
      return false;
    }
    // The entry is the new one's: it must not go when the old one does.
    if (previous !== undefined) own.release(previous);
    own.add(participant, revision);
    return true;
  }

  async takeOver(participant: Participant, isJoining: boolean): Promise<boolean> {
    const { directory, own, replica, entryOf, self, wallMs, askSecrets, adopted } = this.#options;
    const { remote, roomCode, id } = participant;
    if (remote === undefined) return true;
    const secrets =
      remote.owner === undefined ? undefined : await askSecrets(remote.owner, participant);
    if (!isJoining && remote.hasSecrets && secrets === undefined) {
      throw new HubError(
        "participant_not_found",
        `The hub that ${id} had joined cannot be reached, and this one does not know all of ${id}.`,
        { hint: "Join again: roomhub join does so by itself." },
      );
    }
    const entry: ParticipantEntry = {
      ...entryOf(participant),
      owner: self,
      path: participant.isTunnelOnly ? underWayEntry(wallMs()) : { kind: "untried" },
    };
    const revision = await reachable(() => directory.putParticipant(entry, remote.revision));
    if (revision === undefined) {
      await this.catchUp(roomCode, id);
      return false;
    }
    replica.forget(participant);
    own.add(participant, revision);
    adopted(participant, secrets);
    return true;
  }

  changed(participant: Participant): void {
    this.#options.own.change(participant);
  }

  removed(participant: Participant, isReplaced: boolean): void {
    const { own, replica, directory } = this.#options;
    const { remote, roomCode, id } = participant;
    if (isReplaced) own.release(participant);
    else if (remote === undefined) own.remove(participant);
    else {
      // One that no hub owned. When this fails, the entry expires.
      directory.deleteParticipant(roomCode, id, remote.revision).catch(() => undefined);
    }
    replica.forget(participant);
  }

  /** Reads an entry past the replica, and gives it to the replica. @throws HubError `cluster_unavailable` */
  async catchUp(roomCode: string, id: string): Promise<void> {
    const { directory, replica } = this.#options;
    const found = await reachable(() => directory.readParticipant(roomCode, id));
    const revision = found?.revision ?? Number.POSITIVE_INFINITY;
    replica.participantChanged(roomCode, id, found?.value, revision);
  }
}

/** Its tunnel follows: requests wait for it, at all hubs. */
function underWayEntry(since: number): ParticipantEntry["path"] {
  return { kind: "tunnel", readiness: "loading", problem: "it moves to another hub", since };
}

/** @throws HubError `cluster_unavailable` instead of what the directory throws */
export async function reachable<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof DirectoryUnavailable)) throw error;
    throw new HubError("cluster_unavailable", "This hub cannot reach its cluster at the moment.", {
      hint: "What is connected here goes on. Try again in some seconds.",
    });
  }
}
