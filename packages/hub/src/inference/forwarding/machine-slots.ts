import {
  limitsOf,
  isSharedByHubs,
  type Machines,
  updateMachineLimit,
} from "../../domain/machine.ts";
import type { Machine, MachineLimits, Participant } from "../../domain/participant.ts";
import {
  elsewhereOf,
  holdsOf,
  hubsOf,
  isSameNotice,
  type Sharing,
  usableBy,
  waitingHere,
} from "./machine-sharing.ts";
import type { MachineNotice } from "./notices.ts";
import type { Later, PeerLinks } from "./peers.ts";

export interface MachineSlotsDeps {
  links: Pick<PeerLinks, "notify">;
  machines: () => Machines;
  nowMs: () => number;
  later: Later;
  /** The free slots of a participant of this hub are others now. */
  loadChanged: (participant: Participant) => void;
  /** Requests of a room that wait may find a slot. */
  wake: (roomCode: string) => void;
}

const holdMs = 250;
/** Between two looks at the queues, which change with every request that waits. */
const lookMs = 20;
/** While requests wait here for slots that other hubs have, these are asked whether that is still so. */
const askAgainMs = 1_000;
const own = "own";

/**
 * The slots of machines whose participants belong to several hubs. Each hub tells the others how many slots its requests
 * have, so that none takes one that is taken elsewhere. A slot that is freed while several hubs wait for one is held for
 * the hub whose turn it is. Contract §8, "Machines".
 */
export class MachineSlots {
  readonly #deps: MachineSlotsDeps;
  readonly #shared = new Map<Machine, Sharing>();
  readonly #untold = new Set<Sharing>();
  /** rooms with requests that may find a slot */
  readonly #toWake = new Set<string>();
  /** rooms in which other requests wait than before */
  readonly #queues = new Set<string>();
  #turn = 0;
  #isActionDue = false;
  #isExpiryDue = false;
  #isAskingDue = false;
  #isLooking = false;

  constructor(deps: MachineSlotsDeps) {
    this.#deps = deps;
  }

  /** Slots were taken or freed, its limit is another one, or so are the hubs that share it. */
  changed(machine: Machine): void {
    const sharing = this.#sharingOf(machine);
    if (sharing === undefined) return;
    const freed = sharing.active - machine.active;
    sharing.active = machine.active;
    for (let n = 0; n < freed; n++) this.#giveFreed(sharing);
    this.#settle(sharing);
  }

  /** Requests of a room wait, or no longer. */
  queueChanged(roomCode: string): void {
    if (this.#shared.size === 0) return;
    this.#queues.add(roomCode);
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#deps.later(0, () => {
      this.#lookAtQueues();
      this.#deps.later(lookMs, () => {
        this.#isLooking = false;
        const [next] = this.#queues;
        if (next !== undefined) this.queueChanged(next);
      });
    });
  }

  #lookAtQueues(): void {
    for (const sharing of this.#shared.values()) {
      for (const { roomCode } of sharing.machine.members) {
        if (this.#queues.has(roomCode)) this.#untold.add(sharing);
      }
    }
    this.#queues.clear();
    this.#act();
  }

  /** What another hub says. */
  noted(hubId: string, notice: MachineNotice): void {
    const machine = this.#deps.machines().find(notice.machine);
    const sharing = machine && this.#sharingOf(machine);
    if (sharing === undefined) return;
    const { taken, waiting, limits } = notice;
    const more = taken - (sharing.heard.get(hubId)?.taken ?? 0);
    sharing.heard.set(hubId, { taken, waiting, limits });
    // What it waits for no more, it takes no more.
    this.#endHolds(sharing, hubId, waiting === 0 ? Number.POSITIVE_INFINITY : more);
    this.#settle(sharing);
    if (notice.asks === true) this.#tell(sharing, hubId, true);
  }

  /** Its link is new: it knows nothing yet. */
  hubOpened(hubId: string): void {
    this.#forget(hubId);
  }

  /** Nothing more is heard of its requests. */
  hubClosed(hubId: string): void {
    this.#forget(hubId);
  }

  #forget(hubId: string): void {
    for (const sharing of this.#shared.values()) {
      sharing.heard.delete(hubId);
      sharing.told.delete(hubId);
      this.#endHolds(sharing, hubId, Number.POSITIVE_INFINITY);
      this.#settle(sharing);
    }
  }

  /** undefined for a machine that only one hub has participants of */
  #sharingOf(machine: Machine): Sharing | undefined {
    let sharing = this.#shared.get(machine);
    if (!isSharedByHubs(machine)) {
      if (sharing !== undefined) this.#end(sharing);
      return undefined;
    }
    if (sharing === undefined) {
      sharing = {
        ...{ machine, active: machine.active, holds: [] },
        ...{ heard: new Map(), told: new Map(), turns: new Map() },
      };
      this.#shared.set(machine, sharing);
    }
    return sharing;
  }

  #end({ machine }: Sharing): void {
    this.#shared.delete(machine);
    this.#apply(machine, 0, []);
  }

  /** A slot is free. When others wait for one, and it is not this hub's turn, it is held for them. */
  #giveFreed(sharing: Sharing): void {
    const { machine, turns } = sharing;
    // With more free ones, who waits does so for another reason; with fewer, too many have run.
    if (machine.limit - machine.active - elsewhereOf(sharing) !== 1) return;
    const waiting = hubsOf(machine).filter((hubId) => {
      return (sharing.heard.get(hubId)?.waiting ?? 0) > holdsOf(sharing, hubId);
    });
    if (waiting.length === 0) return;
    if (usableBy(machine, this.#deps.nowMs) > 0) waiting.push(own);
    const next = waiting.reduce((one, other) => {
      return (turns.get(other) ?? 0) < (turns.get(one) ?? 0) ? other : one;
    });
    turns.set(next, ++this.#turn);
    if (next === own) return;
    sharing.holds.push({ hubId: next, sinceMs: this.#deps.nowMs() });
    this.#expireLater();
  }

  #settle(sharing: Sharing): void {
    const { machine, heard } = sharing;
    const hubIds = hubsOf(machine);
    const limits = hubIds.flatMap((hubId) => heard.get(hubId)?.limits ?? []);
    this.#apply(machine, elsewhereOf(sharing), limits);
    // At once what leaves others less; what leaves them more once it is clear that this hub does not use it.
    for (const hubId of hubIds) {
      const before = sharing.told.get(hubId);
      if (before === undefined || this.#takenFor(sharing, hubId) > before.taken) {
        this.#tell(sharing, hubId);
      }
    }
    this.#untold.add(sharing);
    this.#actSoon();
  }

  #apply(machine: Machine, elsewhere: number, limits: readonly MachineLimits[]): void {
    const { limit: limitBefore, elsewhere: before } = machine;
    machine.elsewhere = elsewhere;
    machine.othersLimits = limits;
    updateMachineLimit(machine);
    if (elsewhere === before && machine.limit === limitBefore) return;
    for (const member of machine.members) this.#deps.loadChanged(member);
    const isLess = machine.limit - elsewhere <= limitBefore - before;
    if (isLess) return;
    // What other hubs say at this moment comes first: one of them may have taken the slot.
    for (const { roomCode } of machine.members) this.#toWake.add(roomCode);
    this.#actSoon();
  }

  #actSoon(): void {
    if (this.#isActionDue) return;
    this.#isActionDue = true;
    this.#deps.later(0, () => {
      this.#isActionDue = false;
      this.#act();
    });
  }

  /** Uses the slots that are free, and says then what is left. */
  #act(): void {
    const rooms = [...this.#toWake];
    this.#toWake.clear();
    for (const roomCode of rooms) this.#deps.wake(roomCode);
    const untold = [...this.#untold];
    this.#untold.clear();
    for (const sharing of untold) {
      for (const hubId of hubsOf(sharing.machine)) this.#tell(sharing, hubId);
    }
  }

  #tell(sharing: Sharing, hubId: string, isAsked = false): void {
    const { machine, told, heard } = sharing;
    // A server that queues by itself has no slots to share.
    if (!Number.isFinite(machine.limit) && !isAsked) return;
    const waiting = waitingHere(machine, this.#deps.nowMs);
    const notice: MachineNotice = {
      ...{ kind: "machine", machine: machine.key, taken: this.#takenFor(sharing, hubId) },
      ...{ waiting, limits: limitsOf(machine), asks: heard.has(hubId) ? undefined : true },
    };
    const before = told.get(hubId);
    if (!isAsked && before !== undefined && isSameNotice(before, notice)) return;
    told.set(hubId, notice);
    this.#deps.links.notify(hubId, notice);
    if (waiting > 0) this.#askLater();
  }

  /** Slots that this hub's requests have, and those that it holds for others than that hub. */
  #takenFor({ machine, holds }: Sharing, hubId: string): number {
    return machine.active + holds.filter((hold) => hold.hubId !== hubId).length;
  }

  #endHolds(sharing: Sharing, hubId: string, count: number): void {
    let left = count;
    sharing.holds = sharing.holds.filter((hold) => hold.hubId !== hubId || left-- <= 0);
  }

  #expireLater(): void {
    if (this.#isExpiryDue) return;
    this.#isExpiryDue = true;
    this.#deps.later(holdMs, () => {
      this.#isExpiryDue = false;
      for (const sharing of this.#shared.values()) this.#expire(sharing);
      if ([...this.#shared.values()].some(({ holds }) => holds.length > 0)) this.#expireLater();
    });
  }

  #expire(sharing: Sharing): void {
    const nowMs = this.#deps.nowMs();
    const [first] = sharing.holds;
    if (first === undefined || nowMs - first.sinceMs < holdMs) return;
    for (const { hubId, sinceMs } of sharing.holds) {
      const heard = sharing.heard.get(hubId);
      // It gets the next one when it says again that it waits.
      if (nowMs - sinceMs >= holdMs && heard !== undefined) {
        sharing.heard.set(hubId, { ...heard, waiting: 0 });
      }
    }
    sharing.holds = sharing.holds.filter(({ sinceMs }) => nowMs - sinceMs < holdMs);
    this.#settle(sharing);
  }

  /** A notice may have been lost: a slot that seems to be taken would be so for good. */
  #askLater(): void {
    if (this.#isAskingDue) return;
    this.#isAskingDue = true;
    this.#deps.later(askAgainMs, () => {
      this.#isAskingDue = false;
      for (const sharing of this.#shared.values()) {
        const { machine, heard } = sharing;
        if (waitingHere(machine, this.#deps.nowMs) === 0) continue;
        for (const hubId of heard.keys()) this.#ask(sharing, hubId);
        this.#askLater();
      }
    });
  }

  #ask(sharing: Sharing, hubId: string): void {
    const told = sharing.told.get(hubId);
    if (told !== undefined) this.#deps.links.notify(hubId, { ...told, asks: true });
  }
}
