import { Pace } from "../../packages/hub/src/domain/placement/pace.ts";
import type { Participant } from "../../packages/hub/src/domain/participant.ts";
import {
  place,
  type PlacementCandidate,
} from "../../packages/hub/src/domain/placement/placement.ts";
import { aParticipant } from "../../packages/hub/src/domain/room.fixture.ts";
import {
  type Prompt,
  WarmConversations,
} from "../../packages/hub/src/domain/placement/warm-conversations.ts";
import type { Job, Machine } from "./machine.ts";
import type { Choice, Policy } from "./policy.ts";
import type { RoomRequest } from "./traffic.ts";

/** What a room's requests and responses tell the hub. */
export interface HubView {
  /** requests name their conversation's session */
  hasSessions: boolean;
  /** responses report how much of the prompt was in the cache */
  reportsCache: boolean;
}

/** What the hub knows of one machine. */
interface Known {
  participant: Participant;
  pace: Pace;
  awaited: number;
}

/**
 * The hub's own placement. It sees what a hub sees: who is present and free, which model is loaded, and when the first
 * content and the end of each response came.
 */
export class HubPolicy implements Policy {
  readonly #hasSessions: boolean;
  readonly #reportsCache: boolean;
  readonly #warm = new WarmConversations();
  /** of the shortest prompt that each refused: a hub knows from it how long others are in tokens */
  readonly #refusedBytes = new Map<Participant, number>();
  readonly #refusedBy = new Map<RoomRequest, Participant[]>();
  readonly #known: Known[];
  /** what each running or waiting request was expected to compute, and until when it may be held */
  readonly #coldBytes = new Map<RoomRequest, number>();
  readonly #holdUntilMs = new Map<RoomRequest, number>();

  constructor(limits: readonly number[], { hasSessions, reportsCache }: HubView) {
    this.#hasSessions = hasSessions;
    this.#reportsCache = reportsCache;
    this.#known = limits.map((limit, index) => ({
      participant: aParticipant({ id: `m${index}`, limit }),
      pace: new Pace(),
      awaited: 0,
    }));
  }

  choose(request: RoomRequest, machines: readonly Machine[], nowMs: number): Choice {
    const warm = this.#warm.warmBytes(this.#promptOf(request), nowMs);
    const refusedBy = this.#refusedBy.get(request) ?? [];
    const candidates = [...machines.entries()].flatMap(([index, machine]) => {
      const known = this.#known[index];
      return known === undefined || !machine.isPresent || refusedBy.includes(known.participant)
        ? []
        : [this.#candidate(index, machine, known, request, warm)];
    });
    const placement = place(candidates, {
      promptBytes: request.promptBytes,
      form: "stream",
      nowMs,
      holdUntilMs: this.#holdUntilMs.get(request),
    });
    switch (placement.kind) {
      case "take":
        return { kind: "take", index: placement.candidate.index };
      case "hold":
        if (!this.#holdUntilMs.has(request)) this.#holdUntilMs.set(request, placement.untilMs);
        return { kind: "hold", index: placement.candidate.index, untilMs: placement.untilMs };
      case "full":
        return placement;
    }
  }

  waits(index: number, change: 1 | -1): void {
    this.#at(index).awaited += change;
  }

  started(index: number, request: RoomRequest, nowMs: number): void {
    const { participant } = this.#at(index);
    const prompt = this.#promptOf(request);
    const warmBytes = this.#warm.warmBytes(prompt, nowMs).get(participant) ?? 0;
    const coldBytes = Math.max(0, request.promptBytes - warmBytes);
    this.#coldBytes.set(request, coldBytes);
    this.#at(index).pace.noteSent("stream", coldBytes, nowMs);
    this.#warm.note(participant, prompt, nowMs);
  }

  refused(index: number, { request }: Job, nowMs: number): void {
    const { participant, pace } = this.#at(index);
    pace.noteAnswer("stream", nowMs);
    const shortest = this.#refusedBytes.get(participant) ?? request.promptBytes;
    this.#refusedBytes.set(participant, Math.min(shortest, request.promptBytes));
    this.#warm.drop(participant, this.#promptOf(request));
    this.#refusedBy.set(request, [...(this.#refusedBy.get(request) ?? []), participant]);
  }

  ended(index: number, { request, startedMs, firstMs, load, warmBytes }: Job, nowMs: number): void {
    const { pace } = this.#at(index);
    pace.noteAnswer("stream", nowMs);
    const reported = request.promptBytes - warmBytes;
    const coldBytes = this.#reportsCache ? reported : (this.#coldBytes.get(request) ?? 0);
    const tookMs = (firstMs ?? nowMs) - startedMs;
    if (load === "own") pace.noteLoad(coldBytes, tookMs);
    else if (load === "none")
      pace.noteFirst(
        "stream",
        { promptBytes: this.#reportsCache ? reported : request.promptBytes, coldBytes },
        tookMs,
        nowMs,
      );
    pace.noteSlot(nowMs - startedMs);
  }

  left(index: number): void {
    this.#warm.forget(this.#at(index).participant);
  }

  #at(index: number): Known {
    const known = this.#known[index];
    if (known === undefined) throw new Error(`no machine ${index}`);
    return known;
  }

  #promptOf({ conversation, promptBytes }: RoomRequest): Prompt {
    return {
      session: this.#hasSessions ? String(conversation.id) : undefined,
      borders: conversation.borders.filter(({ bytes }) => bytes <= promptBytes),
      bytes: promptBytes,
    };
  }

  #candidate(
    index: number,
    machine: Machine,
    { participant, pace, awaited }: Known,
    request: RoomRequest,
    warm: ReadonlyMap<Participant, number>,
  ): PlacementCandidate & { index: number } {
    const refusedBytes = this.#refusedBytes.get(participant) ?? Number.POSITIVE_INFINITY;
    return {
      index,
      isFree: machine.hasRoom,
      active: machine.jobs.length,
      limit: participant.load.limit,
      startedMs: machine.jobs.map(({ startedMs }) => startedMs),
      awaited,
      warmBytes: warm.get(participant) ?? 0,
      mustLoad: !machine.isLoaded,
      mayBeTooSmall: request.promptBytes >= refusedBytes,
      pace,
    };
  }
}
