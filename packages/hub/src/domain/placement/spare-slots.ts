import { isInHours, parseHours } from "@roomhub/protocol";
import type { Machine, Participant } from "../participant.ts";
import { isRoutable } from "../readiness.ts";
import type { Room } from "../room.ts";
import { isFull } from "../slots.ts";

/** As long after the last interactive request of a room, slots are kept for the next one. */
const keptMs = 5 * 60_000;
/** From as many slots on, half of them are kept; of fewer, one. */
const halfFrom = 8;

/** The slots of a room that a request of a batch may take at this moment. Contract §3, "Batches". */
export class SpareSlots {
  readonly #room: Room;
  readonly #nowMs: () => number;
  readonly #wallMs: () => number;
  readonly #keepsSlots: boolean;
  readonly #spareOf = new Map<string, boolean>();
  /** by time zone */
  readonly #hourIn = new Map<string, number>();

  /** @param wallMs - epoch ms */
  constructor(room: Room, nowMs: () => number, wallMs: () => number) {
    this.#room = room;
    this.#nowMs = nowMs;
    this.#wallMs = wallMs;
    this.#keepsSlots = isInteractive(room, nowMs());
  }

  has(one: Participant): boolean {
    if (isFull(one) || isWanted(one) || !this.#isOpen(one)) return false;
    if (!this.#keepsSlots) return true;
    return isWithin(one.load.machine) && this.#modelHas(one.model);
  }

  /** Whether it serves requests of batches at this moment. */
  #isOpen({ batches, load }: Participant): boolean {
    if (areBatchTokensSpent(load, this.#wallMs)) return false;
    if (batches === undefined || batches === false) return batches === undefined;
    const { hours, timeZone } = batches;
    const hour = this.#hourIn.get(timeZone) ?? hourIn(timeZone, this.#wallMs());
    this.#hourIn.set(timeZone, hour);
    const open = parseHours(hours);
    return typeof open === "object" && isInHours(open, hour);
  }

  #modelHas(model: string): boolean {
    let has = this.#spareOf.get(model);
    if (has === undefined) {
      has = isWithin(this.#slotsOf(model));
      this.#spareOf.set(model, has);
    }
    return has;
  }

  /** The slots of all participants that serve a model now. */
  #slotsOf(model: string): Pick<Machine, "batch" | "limit"> {
    const { placing, participants } = this.#room;
    const slots = { batch: 0, limit: 0 };
    for (const one of placing.serving.serving(model, participants.values()).participants) {
      if (!isRoutable(one, this.#nowMs)) continue;
      slots.batch += one.load.batch;
      slots.limit += one.load.limit;
    }
    return slots;
  }
}

/** Whether the tokens that its agent permits batches are used up for today. */
export function areBatchTokensSpent(
  { budget }: Participant["load"],
  wallMs: () => number,
): boolean {
  if (budget?.remainingBatchTokens !== 0) return false;
  return budget.resetAt === undefined || wallMs() < budget.resetAt;
}

/**
 * The agent refused a request of a batch: nothing is left of its tokens for batches.
 *
 * @returns whether its agent reports a budget, and with it when there are tokens again
 */
export function noteBatchTokensSpent(load: Participant["load"]): boolean {
  if (load.budget === undefined) return false;
  load.budget = { ...load.budget, remainingBatchTokens: 0 };
  return true;
}

function hourIn(timeZone: string, wallMs: number): number {
  const options = { timeZone, hour: "numeric", hourCycle: "h23" } as const;
  return Number(new Intl.DateTimeFormat("en", options).format(wallMs));
}

/** Whether an interactive request runs in the room, or began or ended lately. */
function isInteractive({ placing, participants }: Room, nowMs: number): boolean {
  if (nowMs - placing.lastInteractiveMs < keptMs) return true;
  for (const { load } of participants.values()) if (load.active > load.batch) return true;
  return false;
}

/** Whether an interactive request waits that could run there, or in another slot of its machine. */
function isWanted({ load }: Participant): boolean {
  if (load.queued > 0) return true;
  for (const member of load.machine?.members ?? []) if (member.load.queued > 0) return true;
  return false;
}

/** Whether one more request of a batch leaves the slots that are kept. */
function isWithin(slots: Pick<Machine, "batch" | "limit"> | undefined): boolean {
  if (slots === undefined || !Number.isFinite(slots.limit)) return true;
  const most = slots.limit < halfFrom ? slots.limit - 1 : Math.floor(slots.limit / 2);
  return slots.batch < most;
}
