import type { HubIdentity } from "../domain/participant.ts";

/** What a hub says of itself to the others, every 3 s. */
export interface HubPresence extends HubIdentity {
  /** where clients and participants reach it */
  advertiseUrl: string;
  /** where other hubs reach it */
  linkUrl: string;
  version: string;
  /** epoch ms */
  startedAt: number;
  /** that it owns */
  participants: number;
  /** counts up; the time of a beat is when it is received */
  beat: number;
  /** a subscriber of it reads events of detail */
  wantsDetail: boolean;
  isDraining: boolean;
}
