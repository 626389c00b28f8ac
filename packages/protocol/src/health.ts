import { z } from "zod";

export const HealthResponse = z.object({
  status: z.enum(["ok", "degraded", "draining"]),
  version: z.string(),
  uptimeSeconds: z.number(),
  /** ISO */
  timestamp: z.string(),
  /** the hub's URL for others, as lines to paste have it. Contract §7 */
  url: z.string().optional(),
  /** whether the hub hands out its program */
  handout: z.boolean().optional(),
});
export type HealthResponse = z.infer<typeof HealthResponse>;
