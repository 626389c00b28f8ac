import type { Machine, Participant } from "./participant.ts";

/** From here on a model server queues by itself: a cloud API, vLLM, SGLang. */
const unboundedLimit = 256;

class SharedMachine implements Machine {
  readonly id: string;
  active = 0;
  readonly startedMs: number[] = [];
  limit = 1;
  readonly #members = new Set<Participant>();

  constructor(id: string) {
    this.id = id;
  }

  get members(): ReadonlySet<Participant> {
    return this.#members;
  }

  add(participant: Participant): void {
    this.#members.add(participant);
    participant.machine = this;
    updateMachineLimit(this);
  }

  delete(participant: Participant): void {
    this.#members.delete(participant);
    participant.machine = undefined;
    updateMachineLimit(this);
  }
}

/** The machines of one hub, by the key that their participants prove or share. */
export class Machines {
  readonly #byKey = new Map<string, SharedMachine>();
  readonly #keys = new Map<Participant, string>();

  get size(): number {
    return this.#byKey.size;
  }

  /** @param key - 8 hex digits or more; undefined for a participant that shares nothing */
  assign(participant: Participant, key: string | undefined): void {
    const before = this.#keys.get(participant);
    if (before === key) return;
    if (before !== undefined) this.#leave(participant, before);
    if (key === undefined) return;
    let machine = this.#byKey.get(key);
    if (machine === undefined) {
      machine = new SharedMachine(key.slice(0, 8));
      this.#byKey.set(key, machine);
    }
    machine.add(participant);
    this.#keys.set(participant, key);
  }

  #leave(participant: Participant, key: string): void {
    const machine = this.#byKey.get(key);
    this.#keys.delete(participant);
    machine?.delete(participant);
    if (machine?.members.size === 0) this.#byKey.delete(key);
  }
}

/**
 * As many as the model server reports, or as the most careful of its participants declares where that is more; where
 * neither is known, as many as one of them alone may have.
 */
export function updateMachineLimit(machine: Machine): void {
  let reported = 0;
  let declared = Number.POSITIVE_INFINITY;
  let most = 1;
  for (const member of machine.members) {
    if (member.reported.limit !== undefined) reported = Math.max(reported, member.reported.limit);
    if (member.limitFrom === "declared") declared = Math.min(declared, member.limit);
    most = Math.max(most, member.limit);
  }
  const isDeclared = Number.isFinite(declared);
  const limit =
    reported === 0 && !isDeclared ? most : Math.max(reported, isDeclared ? declared : 0);
  machine.limit = limit >= unboundedLimit ? Number.POSITIVE_INFINITY : limit;
}

/**
 * The rooms in which a freed slot may start a request, those of a shared machine one after the other.
 *
 * @param roomCode - of the participant that had the slot: its room comes last
 * @param machine - that the slot was taken of, which the participant may have left since
 */
export function roomsToWake(roomCode: string, machine: Machine | undefined): readonly string[] {
  let others: Set<string> | undefined;
  for (const member of machine?.members ?? []) {
    if (member.roomCode !== roomCode) (others ??= new Set()).add(member.roomCode);
  }
  return others === undefined ? [roomCode] : [...others, roomCode];
}
