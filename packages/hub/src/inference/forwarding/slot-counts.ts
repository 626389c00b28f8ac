import type { Participant } from "../../domain/participant.ts";
import type { ForwardedSlots } from "./serve-forwarded.ts";

/** How many slots of each participant the requests of each other hub have. */
export class ForwardedSlotCounts implements ForwardedSlots {
  readonly #counts = new WeakMap<Participant, Map<string, number>>();

  takeGrant(): boolean {
    return false;
  }

  changed(participant: Participant, hubId: string, by: 1 | -1): void {
    const counts = this.#counts.get(participant) ?? new Map<string, number>();
    this.#counts.set(participant, counts);
    counts.set(hubId, (counts.get(hubId) ?? 0) + by);
  }

  elsewhere(participant: Participant, hubId: string): number {
    const { active, limit, machine } = participant;
    const shared = machine === undefined ? 0 : limit - (machine.limit - machine.active);
    return Math.max(active, shared) - (this.#counts.get(participant)?.get(hubId) ?? 0);
  }
}
