import type { AliasTable } from "./aliases/alias-table.ts";
import type { Ban } from "./keys/bans.ts";
import type { KeyTable } from "./keys/key-table.ts";
import { Pace } from "./placement/pace.ts";
import { updateFacts } from "./needs/model-facts.ts";
import { noFacts, type Participant } from "./participant.ts";
import { ServingIndex } from "./placement/serving-index.ts";
import { SessionBindings } from "./placement/session-bindings.ts";
import { WarmConversations } from "./placement/warm-conversations.ts";

export interface Room {
  readonly id: string;
  readonly code: string;
  name: string;
  readonly hostId: string;
  /** epoch ms */
  readonly createdAt: number;
  isPasswordProtected: boolean;
  /** SHA-256 of the host token; undefined for a room from before there were any */
  readonly hostTokenDigest: Uint8Array | undefined;
  /** epoch ms of the last join, request or subscription */
  lastUsedAt: number;
  /** replaced as a whole when one of them changes */
  aliases: AliasTable;
  /** Its use needs a key. Contract §9. */
  isClosed: boolean;
  /** replaced as a whole, as aliases */
  keys: KeyTable;
  /** who may not join; replaced as a whole */
  bans: readonly Ban[];
  /** whose requests are refused: names and addresses of clients, in lower case; replaced as a whole */
  blocked: ReadonlySet<string>;
  /** Its host deleted it: what runs in it ends. */
  isDeleted: boolean;
  /** by id, in join order */
  readonly participants: Map<string, Participant>;
  readonly placing: RoomPlacing;
}

/** What placement uses in a room. */
interface RoomPlacing {
  readonly serving: ServingIndex;
  readonly warm: WarmConversations;
  readonly sessions: SessionBindings;
  /** ms on the hub's clock when a request that is not of a batch last began or ended */
  lastInteractiveMs: number;
}

export function newPlacing(): RoomPlacing {
  return {
    serving: new ServingIndex(),
    warm: new WarmConversations(),
    sessions: new SessionBindings(),
    lastInteractiveMs: Number.NEGATIVE_INFINITY,
  };
}

/** Whether this registration is still the current one in the room. */
export function isPresent({ participants }: Room, participant: Participant): boolean {
  return participants.get(participant.id) === participant;
}

/** A participant has another model or endpoint: drops what was measured and cached of the old one. */
export function modelChanged({ placing }: Room, participant: Participant): void {
  placing.serving.invalidate();
  placing.warm.forget(participant);
  participant.learned.pace = new Pace();
  participant.learned.rarePaces = new Map();
  participant.learned.facts = noFacts;
  participant.learned.measured = undefined;
  participant.learned.refused = undefined;
  participant.learned.bytesPerToken = undefined;
  participant.learned.loadTookMs = undefined;
  updateFacts(participant);
}
