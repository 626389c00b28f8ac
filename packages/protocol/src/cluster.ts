import { z } from "zod";

/** One hub of a cluster, as seen by the hub that responds. */
export const HubEntry = z.object({
  hubId: z.string(),
  bootId: z.string(),
  /** where clients and participants reach it */
  url: z.string(),
  version: z.string(),
  /** of rooms that have their home there */
  participants: z.number(),
  /** `self`: the hub that responds. `down`: no requests can be sent to it, for the reason in `problem`. */
  link: z.enum(["self", "open", "down"]),
  /** of `self` also: another hub has the same id */
  problem: z.string().optional(),
  isDraining: z.boolean(),
  /** of `self`: what may be lost when NATS fails */
  warning: z.string().optional(),
});
export type HubEntry = z.infer<typeof HubEntry>;

/** A hub of the cluster that did not respond within 1 s: the response lacks what only that hub knows. */
export const UnreachableHub = z.object({
  hubId: z.string(),
  /** where clients and participants reach it, when it can be reached */
  url: z.string(),
});
export type UnreachableHub = z.infer<typeof UnreachableHub>;

/** `GET /v1/cluster/hubs`: this hub first, the others by id. */
export const HubList = z.object({ hubs: HubEntry.array() });
export type HubList = z.infer<typeof HubList>;

/** Which home of a room it is, counted from 1: it grows whenever the room moves. Contract §8. */
export const HomeEpoch = z.int().positive();

/**
 * Sent by an agent with each tunnel's handshake: the highest epoch of the room's home that it has seen, `0` for none. An agent
 * that sends it follows a 421; one that does not is served through the hub that it reached.
 */
export const HOME_EPOCH_HEADER = "x-roomhub-home-epoch";

/** `1`: the agent cannot reach the hub that a 421 named. The hub passes the tunnel on instead. */
export const PIPE_HEADER = "x-roomhub-pipe";

/** Where a tunnel is dialled. */
export const TunnelAddress = z.object({
  url: z.string(),
  /** the key that the hub there must have, `sha256-…`; left out where no invite pins it */
  pin: z.string().optional(),
});
export type TunnelAddress = z.infer<typeof TunnelAddress>;

/** What a 421 of a tunnel's handshake has beside `error`: where to dial. */
export const Elsewhere = z.object({
  error: z
    .object({ code: z.string().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  tunnel: TunnelAddress,
  homeEpoch: HomeEpoch.optional().catch(undefined),
});
export type Elsewhere = z.infer<typeof Elsewhere>;
