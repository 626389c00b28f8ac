import type { Participant, RemotePlace } from "../../domain/participant.ts";
import { sharedMachine } from "../../domain/views.ts";
import type { LoadItem } from "./notices.ts";
import type { Outbox } from "./outbox.ts";
import { type Later, type PeerLinks, refOf } from "./peers.ts";

export interface LoadReportsDeps {
  links: Pick<PeerLinks, "openHubIds">;
  outbox: Outbox;
  nowMs: () => number;
  later: Later;
  /** Slots taken by others than that hub. */
  elsewhere: (participant: Participant, hubId: string) => number;
  /** the participants of this hub */
  own: () => Iterable<Participant>;
}

/** What one hub was told last. */
interface Told extends Pick<LoadItem, "elsewhere" | "limit" | "limitFrom" | "lastSeenAt"> {
  machine: RemotePlace["machine"] | null;
  paceChanges: number;
}

/** Ten times a second at most, per participant. */
const intervalMs = 100;
/** A sign of life alone is reported when it is later by this much. */
const seenWithinMs = 5_000;

/** Tells all hubs how busy and how fast the participants of this one are, when that has changed. */
export class LoadReports {
  readonly #deps: LoadReportsDeps;
  readonly #changed = new Set<Participant>();
  readonly #sentMs = new WeakMap<Participant, number>();
  /** by hub */
  readonly #told = new Map<string, WeakMap<Participant, Told>>();
  #isScheduled = false;

  constructor(deps: LoadReportsDeps) {
    this.#deps = deps;
  }

  changed(participant: Participant): void {
    if (participant.remote !== undefined) return;
    this.#changed.add(participant);
    this.#schedule(0);
  }

  /** It knows nothing yet. */
  hubOpened(hubId: string): void {
    this.#told.set(hubId, new WeakMap());
    for (const participant of this.#deps.own()) this.#tell(hubId, participant);
  }

  hubClosed(hubId: string): void {
    this.#told.delete(hubId);
  }

  #schedule(afterMs: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#deps.later(afterMs, () => {
      this.#isScheduled = false;
      this.#report();
    });
  }

  #report(): void {
    const nowMs = this.#deps.nowMs();
    const hubIds = this.#deps.links.openHubIds();
    for (const participant of this.#changed) {
      if (nowMs - (this.#sentMs.get(participant) ?? Number.NEGATIVE_INFINITY) < intervalMs)
        continue;
      this.#changed.delete(participant);
      this.#sentMs.set(participant, nowMs);
      for (const hubId of hubIds) this.#tell(hubId, participant);
    }
    if (this.#changed.size > 0) this.#schedule(intervalMs / 4);
  }

  #tell(hubId: string, participant: Participant): void {
    const { nowMs, outbox, elsewhere } = this.#deps;
    const { limit, limitFrom, lastSeenAt, pace } = participant;
    let told = this.#told.get(hubId);
    if (told === undefined) this.#told.set(hubId, (told = new WeakMap()));
    const before = told.get(participant);
    const now: Told = {
      ...{ elsewhere: elsewhere(participant, hubId), limit, limitFrom, lastSeenAt },
      machine: sharedMachine(participant) ?? null,
      paceChanges: pace.changes,
    };
    if (before !== undefined && isSame(before, now)) return;
    told.set(participant, now);
    const isPaceNew = (before?.paceChanges ?? 0) !== pace.changes;
    const { paceChanges: _known, ...load } = now;
    outbox.send(hubId, {
      ...{ kind: "load", at: refOf(participant), ...load },
      pace: isPaceNew ? pace.snapshot(nowMs()) : undefined,
    });
  }
}

function isSame(one: Told, other: Told): boolean {
  return (
    one.elsewhere === other.elsewhere &&
    one.limit === other.limit &&
    one.limitFrom === other.limitFrom &&
    Math.abs(one.lastSeenAt - other.lastSeenAt) < seenWithinMs &&
    one.machine?.active === other.machine?.active &&
    one.machine?.limit === other.machine?.limit &&
    one.paceChanges === other.paceChanges
  );
}
