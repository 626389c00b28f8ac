import type { Participant } from "./participant.ts";

export interface Room {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly hostId: string;
  /** epoch ms */
  readonly createdAt: number;
  readonly isPasswordProtected: boolean;
  /** epoch ms of the last join, request or subscription */
  lastUsedAt: number;
  /** by id, in join order */
  readonly participants: Map<string, Participant>;
}
