import { z } from "zod";

export const HealthResponse = z.object({
  status: z.enum(["ok", "degraded", "draining"]),
  version: z.string(),
  uptimeSeconds: z.number(),
  /** ISO */
  timestamp: z.string(),
  /** the hub's URL for others, as lines to paste have it. Contract §7 */
  url: z.string().optional(),
  /** the key of a hub with a certificate of its own, `sha256-…`; worth as much as the connection that says it */
  pin: z.string().optional(),
  /** whether the hub hands out its program */
  handout: z.boolean().optional(),
});
export type HealthResponse = z.infer<typeof HealthResponse>;
