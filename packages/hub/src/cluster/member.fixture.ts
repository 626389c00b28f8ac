import type { HubIdentity, Participant } from "../domain/participant.ts";
import { Registry } from "../domain/registry.ts";
import { aParticipant, aRoom } from "../domain/room.fixture.ts";
import { Membership } from "./membership.ts";
import { OwnEntries } from "./own-entries.ts";
import { encodeParticipant } from "./participant-entry.ts";
import { Replica } from "./replica.ts";
import { createMemoryCluster, type MemoryCluster } from "./single-node.ts";

export const roomCode = "ABC234";

/** Lets everything that waits in microtasks happen. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * One hub's part in a cluster, without sockets: its registry has one room.
 *
 * @param shared - the cluster it is part of
 */
export async function createMember(shared: MemoryCluster = createMemoryCluster(), name = "a") {
  const self: HubIdentity = { hubId: name.repeat(16), bootId: name.repeat(8) };
  const registry = new Registry();
  const room = aRoom();
  registry.addRoom(room);
  const clocks = { nowMs: () => 0, wallMs: () => 1_700_000_000_000 };
  const log: string[] = [];
  const held: (() => void)[] = [];
  const state = { isSlow: false };
  const directory = shared.directory({
    every: () => () => {},
    deliver: (action) => (state.isSlow ? held.push(action) : queueMicrotask(action)),
  });
  const entryOf = (participant: Participant) =>
    encodeParticipant(
      participant,
      {
        owner: participant.remote === undefined ? self : (participant.remote.owner ?? null),
        machine: null,
        hasSecrets: false,
      },
      clocks,
    );
  const own = new OwnEntries({
    directory,
    encode: entryOf,
    lost: (participant, entry, revision) => replica.disown(participant, entry, revision),
    reportBug: (error) => log.push(`bug ${String(error)}`),
  });
  const replica = new Replica({
    self,
    registry: () => registry,
    own,
    clocks,
    disowned: ({ id }) => void log.push(`disowned ${id}`),
    atMachine: () => undefined,
    changed: () => undefined,
    learned: () => undefined,
  });
  const membership = new Membership({
    self,
    directory,
    own,
    replica,
    entryOf,
    wallMs: clocks.wallMs,
    askSecrets: async () => undefined,
    adopted: (participant) => {
      participant.tunnel = { kind: "closed" };
      log.push(`adopted ${participant.id}`);
    },
  });
  await directory.open({
    roomChanged: () => undefined,
    participantChanged: (code, id, entry, revision) =>
      replica.participantChanged(code, id, entry, revision),
    homeChanged: () => undefined,
    registrationsLost: () => undefined,
    hubSeen: () => undefined,
    stateChanged: (isUp) => {
      if (isUp) own.retry();
    },
  });
  return {
    ...{ self, registry, room, directory, own, replica, membership, log },
    find: (id: string) => room.participants.get(id),
    /** What the directory reports is seen later. */
    slow(): void {
      state.isSlow = true;
    },
    catchUp(): void {
      state.isSlow = false;
      for (const deliver of held.splice(0)) deliver();
    },
    /** @returns the new participant; undefined when another hub was faster */
    async join(id: string, fields: Partial<Participant> = {}): Promise<Participant | undefined> {
      const participant = { ...aParticipant({ id, ...fields }), roomCode };
      const previous = room.participants.get(id);
      if (!(await membership.claim(participant, previous))) return undefined;
      // As the operation does: what the directory reported meanwhile counts.
      if (room.participants.get(id) !== previous) {
        membership.removed(participant, false);
        return undefined;
      }
      if (previous !== undefined) {
        registry.remove(room, previous);
        membership.removed(previous, true);
      }
      registry.add(room, participant);
      return participant;
    },
    async rename(id: string, nickname: string): Promise<void> {
      const participant = room.participants.get(id);
      if (participant === undefined || participant.remote !== undefined) return;
      participant.nickname = nickname;
      membership.changed(participant);
      await settled();
    },
    leave(id: string): void {
      const participant = room.participants.get(id);
      if (participant === undefined || participant.remote !== undefined) return;
      registry.remove(room, participant);
      membership.removed(participant, false);
    },
    /** Those that it owns itself. */
    ownIds: () =>
      [...room.participants.values()].filter((one) => one.remote === undefined).map(({ id }) => id),
    /** What it shows of each participant. */
    shown: () =>
      Object.fromEntries(
        [...room.participants.values()].map((one) => [
          one.id,
          [one.nickname, one.remote?.owner?.bootId ?? self.bootId],
        ]),
      ),
  };
}

export type Member = Awaited<ReturnType<typeof createMember>>;
