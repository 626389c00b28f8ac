import type { Participant } from "../../domain/participant.ts";
import type { QueueEntry, RoomQueues } from "../queue.ts";
import type { WaitNotice } from "./notices.ts";
import { type Later, type PeerLinks, refOf } from "./peers.ts";

type Reported = Pick<WaitNotice, "count" | "address" | "person">;

/** What waits in one room, by participant of another hub. */
interface RoomWaits {
  readonly others: Map<Participant, Reported>;
  /** requests of the participant's owner */
  readonly own: Map<Participant, Reported>;
}

/** Between two looks at the queues: all of them is sorted by turns each time. */
const pauseMs = 20;

/** Tells the owners of other hubs' participants how many requests of this hub wait for each, and whose turn is first. */
export class WaitReports {
  readonly #links: Pick<PeerLinks, "notify">;
  readonly #later: Later;
  readonly #queues: () => RoomQueues;
  /** rooms whose queues have changed */
  readonly #changed = new Set<string>();
  /** by room: what their owners know */
  readonly #reported = new Map<string, RoomWaits>();
  #isPaused = false;

  constructor(links: Pick<PeerLinks, "notify">, later: Later, queues: () => RoomQueues) {
    this.#links = links;
    this.#later = later;
    this.#queues = queues;
  }

  /** A request of the room waits now, or no longer. */
  queueChanged(roomCode: string): void {
    this.#changed.add(roomCode);
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#later(0, () => this.#report());
  }

  /** A grant uses up what its owner knows: what still waits is reported again. */
  granted(participant: Participant): void {
    const reported = this.#reported.get(participant.roomCode);
    for (const waits of seriesOf(reported)) waits.delete(participant);
    this.queueChanged(participant.roomCode);
  }

  /** A hub that was lost has forgotten what waits here. */
  forgetHub(hubId: string): void {
    for (const [roomCode, reported] of this.#reported) {
      for (const waits of seriesOf(reported)) {
        for (const participant of waits.keys()) {
          if (participant.remote?.owner?.hubId === hubId) waits.delete(participant);
        }
      }
      this.queueChanged(roomCode);
    }
  }

  #report(): void {
    const rooms = [...this.#changed];
    this.#changed.clear();
    for (const roomCode of rooms) this.#reportRoom(roomCode);
    this.#later(pauseMs, () => {
      this.#isPaused = false;
      const [next] = this.#changed;
      if (next !== undefined) this.queueChanged(next);
    });
  }

  #reportRoom(roomCode: string): void {
    const before = this.#reported.get(roomCode);
    const waiting = waitingFor(this.#queues().waitingIn(roomCode));
    this.#reportChanges(before?.others, waiting.others, false);
    this.#reportChanges(before?.own, waiting.own, true);
    if (waiting.others.size + waiting.own.size === 0) this.#reported.delete(roomCode);
    else this.#reported.set(roomCode, waiting);
  }

  #reportChanges(
    before: RoomWaits["own"] | undefined,
    waiting: RoomWaits["own"],
    isOwn: boolean,
  ): void {
    for (const [participant, now] of waiting) {
      const last = before?.get(participant);
      if (last === undefined || !isSame(last, now)) this.#send(participant, now, isOwn);
    }
    for (const [participant, last] of before ?? []) {
      if (!waiting.has(participant)) this.#send(participant, { ...last, count: 0 }, isOwn);
    }
  }

  #send(participant: Participant, { count, address, person }: Reported, isOwn: boolean): void {
    const owner = participant.remote?.owner;
    if (owner === undefined) return;
    this.#links.notify(owner.hubId, {
      ...{ kind: "wait", at: refOf(participant), count, address, person },
      isOwn: isOwn ? true : undefined,
    });
  }
}

function seriesOf(waits: RoomWaits | undefined): RoomWaits["own"][] {
  return waits === undefined ? [] : [waits.others, waits.own];
}

/** @param entries - in the order of their turns */
function waitingFor(entries: readonly QueueEntry[]): RoomWaits {
  const waits: RoomWaits = { others: new Map(), own: new Map() };
  for (const { candidates, owned, address, person } of entries) {
    for (const candidate of candidates) {
      if (candidate.remote === undefined) continue;
      const waiting = owned.includes(candidate) ? waits.own : waits.others;
      const first = waiting.get(candidate);
      if (first === undefined) waiting.set(candidate, { count: 1, address, person });
      // More are not granted before the next report.
      else if (first.count < 2 * candidate.limit + 8) {
        waiting.set(candidate, { ...first, count: first.count + 1 });
      }
    }
  }
  return waits;
}

function isSame(one: Reported, other: Reported): boolean {
  return one.count === other.count && one.address === other.address && one.person === other.person;
}
