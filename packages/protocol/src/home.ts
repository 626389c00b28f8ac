import { z } from "zod";

/** Which home of a room it is, counted from 1: it grows whenever the room moves. Contract §8. */
export const HomeEpoch = z.int().positive();

/**
 * Sent by an agent with each tunnel's handshake: the highest epoch of the room's home that it has seen, `0` for none. An agent
 * that sends it follows a 421; one that does not is served through the hub that it reached.
 */
export const HOME_EPOCH_HEADER = "x-roomhub-home-epoch";

/** `1`: the agent cannot reach the hub that a 421 named. The hub passes the tunnel on instead. */
export const PIPE_HEADER = "x-roomhub-pipe";

/** What a 421 of a tunnel's handshake has beside `error`: where to dial. */
export const Elsewhere = z.object({
  error: z
    .object({ code: z.string().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  tunnel: z.object({ url: z.string() }),
  homeEpoch: HomeEpoch.optional().catch(undefined),
});
export type Elsewhere = z.infer<typeof Elsewhere>;
