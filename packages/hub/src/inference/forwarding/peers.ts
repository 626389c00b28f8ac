import type { HubIdentity, Participant } from "../../domain/participant.ts";
import type { Prompt } from "../../domain/placement/warm-conversations.ts";
import type { Room } from "../../domain/room.ts";
import type { ForwardingNotice, MeasuredItem, PaceSample, ParticipantRef } from "./notices.ts";

/** The other hubs of the cluster, as far as links to them are open. */
export interface PeerLinks {
  /** ids of the hubs that requests can be sent to */
  openHubIds(): readonly string[];
  /** Dropped when it cannot be sent now. */
  notify(hubId: string, notice: ForwardingNotice): void;
  /** JSON in, JSON out. Rejects when no response comes in time. */
  ask(
    hubId: string,
    path: string,
    body: unknown,
    timeoutMs: number,
  ): Promise<{ status: number; body: unknown }>;
}

/** Calls back once, after `ms`. One at a time is enough for each user. */
export type Later = (ms: number, callback: () => void) => void;

/** What the other hubs learn of the requests of this one. */
export interface PeerNotes {
  /** A slot of a participant of this hub was taken or freed. */
  loadChanged(participant: Participant): void;
  /** The first content of a response of another hub's participant. */
  measured(participant: Participant, sample: PaceSample): void;
  /** Something else that shows of such a participant, for the hub that owns it. */
  noted(participant: Participant, what: Omit<MeasuredItem, "kind" | "at">): void;
  /** A participant computes a prompt. @param isBound - its session stays there */
  placed(participant: Participant, prompt: Prompt, isBound: boolean): void;
  responseMade(participant: Participant, responseId: string): void;
  /** Asks all hubs once. Never rejects. */
  findMaker(room: Room, responseId: string): Promise<Participant | undefined>;
}

export function refOf({ roomCode, id, key }: Participant): ParticipantRef {
  return { roomCode, id, key };
}

/** Whether a hub may say how busy a participant is. */
export function isOwnedBy({ remote }: Participant, { hubId, bootId }: HubIdentity): boolean {
  return remote?.owner?.hubId === hubId && remote.owner.bootId === bootId;
}
