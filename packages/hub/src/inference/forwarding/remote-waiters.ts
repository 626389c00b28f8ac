import {
  isFull,
  type Machine,
  occupySlot,
  type Participant,
  releaseSlot,
  type SlotHolder,
} from "../../domain/participant.ts";
import { isLoading, isRoutable } from "../../domain/readiness.ts";
import type { QueueEntry, RoomQueues } from "../queue.ts";
import { type Later, type PeerLinks, refOf } from "./peers.ts";
import type { ForwardedSlots } from "./serve-forwarded.ts";

export interface RemoteWaitersDeps {
  links: Pick<PeerLinks, "notify">;
  queues: () => RoomQueues;
  nowMs: () => number;
  later: Later;
  /** Whether this hub still has the participant. */
  isOwn: (participant: Participant) => boolean;
  /** The slots that are free have changed. */
  loadChanged: (participant: Participant) => void;
}

/** A slot that is held for one hub. */
interface Grant {
  readonly participant: Participant;
  readonly hubId: string;
  readonly holder: SlotHolder;
  readonly machine: Machine | undefined;
  readonly startedMs: number;
}

interface Waiting extends SlotHolder {
  readonly count: number;
  /** Those of the participant's owner: the others have a place of their own. */
  readonly isOwn?: boolean | undefined;
}

const grantMs = 250;

/**
 * The requests that wait at other hubs for participants of this one. Each hub has one place per participant in the room's
 * own queue, and one for those of the participant's owner, under the turn of the oldest of them: when that comes, a slot is
 * held for that hub, which then sends the request.
 */
export class RemoteWaiters implements ForwardedSlots {
  readonly #deps: RemoteWaitersDeps;
  /** by hub, those of owners apart; by participant */
  readonly #places = new Map<string, Map<Participant, WaitingHub>>();
  /** in the order they were made */
  readonly #grants = new Set<Grant>();
  /** requests of each hub that run at a participant */
  readonly #running = new WeakMap<Participant, Map<string, number>>();
  #isExpiryDue = false;

  constructor(deps: RemoteWaitersDeps) {
    this.#deps = deps;
  }

  /** @param waiting - how many of the hub's requests could use a slot, and by whom the first takes its turn */
  noteWaiting(hubId: string, participant: Participant, waiting: Waiting): void {
    const before = this.#places.get(placesKey(hubId, waiting))?.get(participant);
    if (waiting.count > 0 && before?.isSameTurn(waiting) === true) {
      before.count = waiting.count;
      return;
    }
    if (before !== undefined) this.#leave(before);
    if (waiting.count > 0) this.#join(hubId, participant, waiting);
  }

  /** Its link is lost: nothing waits there any more. What runs ends by itself. */
  forgetHub(hubId: string): void {
    for (const isOwn of [true, false]) {
      const places = this.#places.get(placesKey(hubId, { isOwn }));
      for (const place of places?.values() ?? []) this.#leave(place);
    }
    for (const grant of this.#grants) if (grant.hubId === hubId) this.#release(grant);
  }

  takeGrant(participant: Participant, hubId: string): boolean {
    for (const grant of this.#grants) {
      if (grant.participant !== participant || grant.hubId !== hubId) continue;
      this.#grants.delete(grant);
      releaseSlot(participant, grant.machine, grant.holder, grant.startedMs);
      return true;
    }
    return false;
  }

  freed(participant: Participant): void {
    this.#deps.loadChanged(participant);
  }

  changed(participant: Participant, hubId: string, by: 1 | -1): void {
    let running = this.#running.get(participant);
    if (running === undefined) this.#running.set(participant, (running = new Map()));
    const count = (running.get(hubId) ?? 0) + by;
    if (count > 0) running.set(hubId, count);
    else running.delete(hubId);
    this.#deps.loadChanged(participant);
  }

  elsewhere(participant: Participant, hubId: string): number {
    const { limit, active, machine } = participant;
    const atMachine =
      machine === undefined ? limit : machine.limit - machine.active - machine.elsewhere;
    const free = Math.max(0, Math.min(limit - active, atMachine));
    const own = this.#running.get(participant)?.get(hubId) ?? 0;
    return Math.max(0, limit - free - own);
  }

  #join(hubId: string, participant: Participant, waiting: Waiting): void {
    const queue = this.#deps.queues().of(participant.roomCode);
    // The requests stay where they are; the next change of their number asks again.
    if (queue.isFull) return;
    const place = new WaitingHub(hubId, participant, waiting, (one) => this.#grantTo(one));
    const key = placesKey(hubId, waiting);
    let places = this.#places.get(key);
    if (places === undefined) this.#places.set(key, (places = new Map()));
    places.set(participant, place);
    queue.add(place, false);
    if (!isFull(participant)) this.#deps.queues().wake(participant.roomCode);
  }

  #leave(place: WaitingHub): void {
    this.#forget(place);
    this.#deps.queues().of(place.participant.roomCode).remove(place);
  }

  #forget(place: WaitingHub): void {
    const key = placesKey(place.hubId, place);
    const places = this.#places.get(key);
    places?.delete(place.participant);
    if (places?.size === 0) this.#places.delete(key);
  }

  /** @returns whether the place is given up: a slot is held for it, or the participant has left this hub */
  #grantTo(place: WaitingHub): boolean {
    const { hubId, participant } = place;
    const { nowMs, links, later, isOwn } = this.#deps;
    if (!isOwn(participant)) {
      this.#forget(place);
      return true;
    }
    if (isFull(participant) || isLoading(participant) || !isRoutable(participant, nowMs)) {
      return false;
    }
    const holder = { address: place.address, person: place.person };
    const startedMs = nowMs();
    const machine = occupySlot(participant, holder, startedMs);
    this.#grants.add({ participant, hubId, holder, machine, startedMs });
    this.#deps.loadChanged(participant);
    const { address, person, count } = place;
    links.notify(hubId, {
      ...{ kind: "grant", at: refOf(participant) },
      isOwn: place.isOwn ? true : undefined,
    });
    this.#expireLater();
    this.#forget(place);
    // Its next request takes its turn behind those that wait already, once this one has left the queue.
    if (count > 1) {
      later(0, () => {
        if (this.#places.get(placesKey(hubId, place))?.has(participant) === true) return;
        this.#join(hubId, participant, { address, person, count: count - 1, isOwn: place.isOwn });
      });
    }
    return true;
  }

  #expireLater(): void {
    if (this.#isExpiryDue) return;
    this.#isExpiryDue = true;
    this.#deps.later(grantMs, () => {
      this.#isExpiryDue = false;
      const nowMs = this.#deps.nowMs();
      for (const grant of this.#grants) {
        if (nowMs - grant.startedMs >= grantMs) this.#release(grant);
      }
      if (this.#grants.size > 0) this.#expireLater();
    });
  }

  #release(grant: Grant): void {
    if (!this.#grants.delete(grant)) return;
    const { participant, machine, holder, startedMs } = grant;
    releaseSlot(participant, machine, holder, startedMs);
    this.#deps.loadChanged(participant);
    this.#deps.queues().wake(participant.roomCode);
  }
}

function placesKey(hubId: string, { isOwn }: Pick<Waiting, "isOwn">): string {
  return isOwn === true ? `${hubId} own` : hubId;
}

/** The place of another hub in the queue of a room. */
class WaitingHub implements QueueEntry {
  readonly address: string;
  readonly person: string;
  readonly hubId: string;
  readonly participant: Participant;
  readonly selectionKey: string;
  readonly candidates: readonly Participant[];
  readonly isHolding = false;
  readonly isOwn: boolean;
  readonly owned: readonly Participant[];
  count: number;
  readonly #goes: (place: WaitingHub) => boolean;

  constructor(
    hubId: string,
    participant: Participant,
    { count, address, person, isOwn = false }: Waiting,
    goes: (place: WaitingHub) => boolean,
  ) {
    this.hubId = hubId;
    this.participant = participant;
    this.address = address;
    this.person = person;
    this.count = count;
    this.isOwn = isOwn;
    this.selectionKey = `hub ${placesKey(hubId, this)} ${participant.key}`;
    this.candidates = [participant];
    // It may serve its owner first no longer.
    this.owned = isOwn && participant.clientKeyDigest !== undefined ? this.candidates : [];
    this.#goes = goes;
  }

  isSameTurn({ address, person }: SlotHolder): boolean {
    return address === this.address && person === this.person;
  }

  tryToLeave(only?: Participant): boolean {
    return (only === undefined || only === this.participant) && this.#goes(this);
  }
}
