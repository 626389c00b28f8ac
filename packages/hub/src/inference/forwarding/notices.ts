import type { LimitSource } from "@roomhub/protocol";
import type { MachineLimits, RemotePlace } from "../../domain/participant.ts";
import type { PaceSnapshot, ResponseForm } from "../../domain/placement/pace.ts";
import type { Prompt } from "../../domain/placement/warm-conversations.ts";

/** A participant as hubs name it to one another. */
export interface ParticipantRef {
  readonly roomCode: string;
  readonly id: string;
  /** of its registration */
  readonly key: string;
}

/** Requests at another hub wait for a participant of this one. 0 for none. */
export interface WaitNotice {
  readonly kind: "wait";
  readonly at: ParticipantRef;
  readonly count: number;
  /** by which the first of them takes its turn */
  readonly address: string;
  readonly person: string;
  /** Those of the participant's owner, which are counted apart from the others. */
  readonly isOwn?: true | undefined;
}

/** A slot is held for a waiting request of the hub that gets this, for 250 ms. */
export interface GrantNotice {
  readonly kind: "grant";
  readonly at: ParticipantRef;
  /** for a request of the participant's owner */
  readonly isOwn?: true | undefined;
}

/** A request of the hub that gets this goes on, over a tunnel that had lost its connection. */
export interface ResumedNotice {
  readonly kind: "resumed";
  readonly at: ParticipantRef;
  readonly requestId: string;
}

/** What is not urgent, for a moment together. */
export interface BatchNotice {
  readonly kind: "batch";
  readonly items: readonly NoticeItem[];
}

/** How busy a participant is, from its owner to one other hub. */
export interface LoadItem {
  readonly kind: "load";
  readonly at: ParticipantRef;
  /** Slots taken by others than the hub that gets this. */
  readonly elsewhere: number;
  readonly limit: number;
  readonly limitFrom: LimitSource;
  /** epoch ms, as its owner's clock has it */
  readonly lastSeenAt: number;
  /** the machine that it shares with others, as its owner lists it; null for none, absent from a hub that does not say */
  readonly machine?: RemotePlace["machine"] | null;
  /** absent while it is as before */
  readonly pace?: PaceSnapshot | undefined;
}

/** What a response showed of a participant, from the hub with the client to the owner. */
export interface MeasuredItem {
  readonly kind: "measured";
  readonly at: ParticipantRef;
  readonly first?: PaceSample | undefined;
  /** A request had to go elsewhere. */
  readonly hasFailed?: true | undefined;
  /** Its agent refuses requests for its budget for so long. */
  readonly restsMs?: number | undefined;
  readonly refusesStreamUsage?: true | undefined;
  readonly reportsUsageItself?: true | undefined;
}

/** The time to the first content of one response. */
export interface PaceSample {
  readonly shows: "speed" | "load";
  readonly form: ResponseForm;
  readonly promptBytes: number;
  readonly coldBytes: number;
  readonly tookMs: number;
}

/** A participant computes a prompt now. */
export interface WarmItem {
  readonly kind: "warm";
  readonly at: ParticipantRef;
  readonly prompt: Prompt;
  /** Its session stays with the participant. */
  readonly isBound: boolean;
}

/** A participant made a response that a client may use later. */
export interface ResponseItem {
  readonly kind: "response";
  readonly at: ParticipantRef;
  readonly responseId: string;
}

/** How many slots of a machine the hub has that says so. All of it, each time: a later one takes the place of this. */
export interface MachineNotice {
  readonly kind: "machine";
  /** the machine's key */
  readonly machine: string;
  /** by its requests, or held for hubs other than the one that gets this */
  readonly taken: number;
  /** requests that a slot would help, at most as many as there are slots */
  readonly waiting: number;
  readonly limits: MachineLimits;
  /** It has not heard the same of the other, or doubts it: wants it now. */
  readonly asks?: true | undefined;
}

export type NoticeItem = LoadItem | MeasuredItem | WarmItem | ResponseItem;
export type ForwardingNotice =
  | WaitNotice
  | GrantNotice
  | ResumedNotice
  | MachineNotice
  | BatchNotice;
