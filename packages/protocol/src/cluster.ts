import { z } from "zod";

/** One hub of a cluster, as another one sees it. */
export const HubEntry = z.object({
  hubId: z.string(),
  bootId: z.string(),
  /** where clients and participants reach it */
  url: z.string(),
  version: z.string(),
  /** that it owns */
  participants: z.number(),
  /** `self`: it gave this list. `down`: requests cannot be forwarded to it, for the reason in `problem`. */
  link: z.enum(["self", "open", "down"]),
  /** also, of the one that gave the list, that another hub has the same id */
  problem: z.string().optional(),
  isDraining: z.boolean(),
  /** of `self`: what a failure of NATS may take back */
  warning: z.string().optional(),
});
export type HubEntry = z.infer<typeof HubEntry>;

/** A hub of the cluster that did not respond within 1 s: what it alone knows is missing in the response. */
export const UnreachableHub = z.object({
  hubId: z.string(),
  /** where clients and participants reach it, when it can be reached */
  url: z.string(),
});
export type UnreachableHub = z.infer<typeof UnreachableHub>;

/** `GET /v1/cluster/hubs`: this hub first, the others by id. */
export const HubList = z.object({ hubs: HubEntry.array() });
export type HubList = z.infer<typeof HubList>;
