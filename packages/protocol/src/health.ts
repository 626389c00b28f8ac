import { z } from "zod";

export const HealthResponse = z.object({
  status: z.enum(["ok", "degraded", "draining"]),
  version: z.string(),
  uptimeSeconds: z.number(),
  /** ISO */
  timestamp: z.string(),
});
export type HealthResponse = z.infer<typeof HealthResponse>;
