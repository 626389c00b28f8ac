import type { SlotHolder, Machine, MachineLimits, Participant } from "./participant.ts";
import type { Limits } from "@roomhub/protocol";

/** A model server with such a limit queues by itself: a cloud API, vLLM, SGLang. */
const unboundedLimit = 256;

class SharedMachine implements Machine {
  readonly id: string;
  active = 0;
  batch = 0;
  readonly startedMs: number[] = [];
  limit = 1;
  readonly #members = new Set<Participant>();

  constructor(key: string) {
    this.id = key.slice(0, 8);
  }

  get members(): ReadonlySet<Participant> {
    return this.#members;
  }

  add(participant: Participant): void {
    this.#members.add(participant);
    participant.load.machine = this;
    updateMachineLimit(this);
  }

  delete(participant: Participant): void {
    this.#members.delete(participant);
    participant.load.machine = undefined;
    updateMachineLimit(this);
  }
}

/** The machines that a hub knows, by the key that their participants prove or share. */
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
      machine = new SharedMachine(key);
      this.#byKey.set(key, machine);
    }
    this.#keys.set(participant, key);
    machine.add(participant);
  }

  #leave(participant: Participant, key: string): void {
    const machine = this.#byKey.get(key);
    this.#keys.delete(participant);
    if (machine === undefined) return;
    machine.delete(participant);
    if (machine.members.size === 0) this.#byKey.delete(key);
  }
}

/** The limits that the participants of a machine report and declare. */
function limitsOf({ members }: Pick<Machine, "members">): MachineLimits {
  let reported = 0;
  let [most, mostUnnamed] = [1, 1];
  const byAgent = new Map<string | undefined, number>();
  for (const {
    agentId,
    load: { limit, limitFrom },
    learned: { reported: report },
  } of members) {
    const isDeclared = limitFrom === "declared";
    const slots = report.limit ?? 0;
    // Some programs report no number and get a usual one: a larger declaration of the same participant takes
    // precedence.
    if (!isDeclared || slots >= limit) reported = Math.max(reported, slots);
    const isUnnamed = agentId === undefined;
    if (limitFrom === "default") {
      if (isUnnamed) mostUnnamed = Math.max(mostUnnamed, limit);
      else most = Math.max(most, limit);
    }
    if (!isDeclared) continue;
    const before = byAgent.get(agentId) ?? limit;
    // Participants without an agent id may belong to several agents: the lowest declaration counts.
    byAgent.set(agentId, isUnnamed ? Math.min(before, limit) : Math.max(before, limit));
  }
  if (!byAgent.has(undefined)) most = Math.max(most, mostUnnamed);
  let declared: number | undefined;
  for (const limit of byAgent.values()) declared = (declared ?? 0) + limit;
  return { reported, declared, most };
}

/**
 * The limit that the model server reports, else the sum that its agents declare, or the assumed limit of one
 * participant where that is more. Contract §3, "Machines".
 */
export function updateMachineLimit(machine: Machine): void {
  const { reported, declared, most } = limitsOf(machine);
  const limit = reported > 0 ? reported : Math.max(declared ?? 0, most);
  machine.limit = limit >= unboundedLimit ? Number.POSITIVE_INFINITY : limit;
}

/**
 * The rooms in which a freed slot may start a request: all rooms of a shared machine.
 *
 * @param roomCode - the room of the participant that had the slot, which comes last
 * @param machine - the machine of the slot, which the participant may have left since
 */
export function roomsToWake(roomCode: string, machine: Machine | undefined): readonly string[] {
  let others: Set<string> | undefined;
  for (const member of machine?.members ?? []) {
    if (member.roomCode !== roomCode) (others ??= new Set()).add(member.roomCode);
  }
  return others === undefined ? [roomCode] : [...others, roomCode];
}

/** The limits for a participant that declares nothing. */
type ConcurrencyLimits = Pick<Limits, "assumedConcurrency" | "inFlightPerParticipant">;

/**
 * Sets how many requests may run at once at a participant: as it declares, else as its model server reports, else as
 * assumed; the last two are bounded by the hub. Contract §3, "Limit of a participant".
 */
export function updateLimit(participant: Participant, limits: ConcurrencyLimits): void {
  setLimit(participant, limits);
  if (participant.load.machine !== undefined) updateMachineLimit(participant.load.machine);
}

function setLimit(
  participant: Participant,
  { assumedConcurrency, inFlightPerParticipant }: ConcurrencyLimits,
): void {
  const { config } = participant;
  const { reported } = participant.learned;
  if (config.maxConcurrency !== undefined) {
    participant.load.limit = config.maxConcurrency;
    participant.load.limitFrom = "declared";
  } else if (reported.limit !== undefined) {
    participant.load.limit = Math.min(reported.limit, inFlightPerParticipant);
    participant.load.limitFrom = reported.limitFrom;
  } else {
    participant.load.limit = Math.min(assumedConcurrency, inFlightPerParticipant);
    participant.load.limitFrom = "default";
  }
}

/** Whether it takes no further request now, by its limit or its machine's. */
export function isFull({ load }: Participant): boolean {
  const { active, limit, machine, isCongested } = load;
  if (active >= limit || isCongested) return true;
  return machine !== undefined && machine.active >= machine.limit;
}

/** A request begins to run. @returns the machine whose slot it takes too */
export function occupySlot(
  { load }: Participant,
  holder: SlotHolder,
  nowMs: number,
  isBatch = false,
): Machine | undefined {
  const { machine } = load;
  load.runningFor.push(holder);
  for (const place of [load, machine]) {
    if (place === undefined) continue;
    place.active++;
    if (isBatch) place.batch++;
    place.startedMs.push(nowMs);
  }
  return machine;
}

/**
 * The request is over.
 *
 * @param machine - and the others: as returned by and given to {@link occupySlot}
 */
export function releaseSlot(
  { load }: Participant,
  machine: Machine | undefined,
  holder: SlotHolder,
  startedMs: number,
  isBatch = false,
): void {
  for (const place of [load, machine]) {
    if (place === undefined) continue;
    place.active--;
    if (isBatch) place.batch--;
    removeOne(place.startedMs, startedMs);
  }
  removeOne(load.runningFor, holder);
}

/** The order says nothing, so the last value may take the place of the removed one. */
function removeOne<Value>(values: Value[], value: Value): void {
  const last = values.pop();
  if (last === undefined || last === value) return;
  const index = values.indexOf(value);
  if (index >= 0) values[index] = last;
}
