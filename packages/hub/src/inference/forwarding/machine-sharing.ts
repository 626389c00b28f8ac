import type { Machine, MachineLimits } from "../../domain/participant.ts";
import { isLoading, isRoutable } from "../../domain/readiness.ts";
import type { MachineNotice } from "./notices.ts";

/** What another hub said last of its requests at a machine. */
interface Heard {
  readonly taken: number;
  readonly waiting: number;
  readonly limits: MachineLimits;
}

/** A slot that was freed here and is for another hub, until it takes it. */
interface Hold {
  readonly hubId: string;
  readonly sinceMs: number;
}

/** One machine, as far as hubs share it. */
export interface Sharing {
  readonly machine: Machine;
  /** of its requests here, as it was last looked at */
  active: number;
  /** by hub */
  readonly heard: Map<string, Heard>;
  readonly told: Map<string, MachineNotice>;
  /** in the order they were made */
  holds: Hold[];
  /** when each hub got a slot last, counted; `own` for this one */
  readonly turns: Map<string, number>;
}

/** Slots that are not for the requests of this hub. */
export function elsewhereOf({ machine, heard, holds }: Sharing): number {
  let taken = holds.length;
  for (const hubId of hubsOf(machine)) taken += heard.get(hubId)?.taken ?? 0;
  return taken;
}

export function holdsOf({ holds }: Sharing, hubId: string): number {
  return holds.filter((hold) => hold.hubId === hubId).length;
}

/** The other hubs with participants in front of a machine. */
export function hubsOf({ remote }: Machine): string[] {
  const hubIds = new Set<string>();
  for (const { remote: place } of remote) {
    if (place?.owner !== undefined) hubIds.add(place.owner.hubId);
  }
  return [...hubIds];
}

/** Requests here that wait for a slot of the machine: while one is free, they wait for something else. */
export function waitingHere(machine: Machine, nowMs: () => number): number {
  const { active, elsewhere, limit } = machine;
  return active + elsewhere < limit ? 0 : usableBy(machine, nowMs);
}

/** How many of the machine's slots the requests that wait here could use. */
export function usableBy({ members, limit }: Machine, nowMs: () => number): number {
  let waiting = 0;
  for (const member of members) {
    const { queued, active, limit: own } = member;
    if (queued === 0 || isLoading(member) || !isRoutable(member, nowMs)) continue;
    waiting += Math.min(queued, Math.max(0, own - active));
  }
  return Math.min(waiting, limit);
}

/** Whether a hub knows already what it would be told. */
export function isSameNotice(one: MachineNotice, other: MachineNotice): boolean {
  return (
    one.taken === other.taken &&
    one.waiting === other.waiting &&
    one.asks === other.asks &&
    one.limits.reported === other.limits.reported &&
    one.limits.declared === other.limits.declared &&
    one.limits.most === other.limits.most
  );
}
