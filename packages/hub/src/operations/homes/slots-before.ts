import type { HubIdentity } from "../../domain/hub-identity.ts";
import type { Machine, Participant, SlotHolder } from "../../domain/participant.ts";
import { occupySlot, releaseSlot } from "../../domain/slots.ts";
import type { OperationContext } from "../context.ts";
import { wakeRooms } from "../presence.ts";

/** A slot that a request takes which runs at an earlier home of the room. */
export interface SlotBefore {
  requestId: string;
  /** where it runs; undefined for the home before this one */
  hub: HubIdentity | undefined;
  participantId: string;
  holder: SlotHolder;
  runsForMs: number;
}

interface Held {
  code: string;
  hub: HubIdentity;
  participant: Participant;
  machine: Machine | undefined;
  holder: SlotHolder;
  startedMs: number;
}

/** Slots at participants of rooms that were handed to this hub, until what runs there ends at the home before. */
export class SlotsBefore {
  readonly #held = new Map<string, Held>();

  /** @param before - the home before this one */
  hold(context: OperationContext, code: string, before: HubIdentity, slot: SlotBefore): void {
    const { requestId, participantId, holder, hub = before } = slot;
    const participant = context.registry.findRoom(code)?.participants.get(participantId);
    if (participant === undefined || this.#held.has(requestId)) return;
    const startedMs = context.nowMs() - slot.runsForMs;
    const machine = occupySlot(participant, holder, startedMs);
    this.#held.set(requestId, { code, hub, participant, machine, holder, startedMs });
  }

  /** The request has ended. */
  release(context: OperationContext, requestId: string): void {
    const held = this.#held.get(requestId);
    if (held === undefined) return;
    this.#held.delete(requestId);
    const { participant, machine, holder, startedMs } = held;
    releaseSlot(participant, machine, holder, startedMs);
    wakeRooms(context, participant.roomCode, machine);
  }

  /** Frees those of requests whose hub has ended. */
  releaseWhere(context: OperationContext, hasEnded: (hub: HubIdentity) => boolean): void {
    for (const [requestId, { hub }] of this.#held) {
      if (hasEnded(hub)) this.release(context, requestId);
    }
  }

  /** The room has another home. Machines that it shares with rooms of this hub are theirs alone now. */
  releaseRoom(context: OperationContext, code: string): void {
    for (const [requestId, held] of this.#held) {
      if (held.code === code) this.release(context, requestId);
    }
  }

  /** Those of a room, for its next home. */
  of(code: string, nowMs: number): SlotBefore[] {
    const slots: SlotBefore[] = [];
    for (const [requestId, held] of this.#held) {
      if (held.code !== code) continue;
      const { participant, hub, startedMs } = held;
      const { address, person } = held.holder;
      const { id: participantId } = participant;
      const runsForMs = nowMs - startedMs;
      slots.push({ requestId, hub, participantId, holder: { address, person }, runsForMs });
    }
    return slots;
  }
}
