import type { World } from "@roomhub/protocol";
import { createHash } from "node:crypto";
import type { HubIdentity } from "../../domain/hub-identity.ts";

/** Where a hub is reached: with `#pin=…`, where its key is the only one to accept. */
export interface HubUrls {
  /** by clients and participants */
  advertiseUrl: string;
  /** by other hubs */
  linkUrl: string;
}

/** What a hub says of itself to the others, every 3 s. */
export interface HubPresence extends HubIdentity, HubUrls {
  version: string;
  /** epoch ms */
  startedAt: number;
  /** of the rooms that have their home there */
  participants: number;
  /** counts up; the time of a beat is when it is received */
  beat: number;
  isDraining: boolean;
  /** It does not run yet, and asks whether another process runs under its id. */
  isStarting: boolean;
  /** boot id of the last process that asked so: the one under whose id it wanted to start runs */
  answers: string | undefined;
}

/** Of the place where a hub is reached: the same after a restart. Without one, random. */
export function hubIdOf(world: World, { linkUrl, advertiseUrl }: Partial<HubUrls>): string {
  const place = linkUrl ?? advertiseUrl;
  if (place === undefined) return Buffer.from(world.randomBytes(8)).toString("hex");
  return createHash("sha256").update(place.replace(/#.*$/, "")).digest("hex").slice(0, 16);
}
