import { z } from "zod";
import { Capabilities } from "./capability.ts";
import { Connection, Load } from "./participant.ts";

/** One entry of `GET …/models`. Interface §2; `name`, `connection`, `load` are additions of contract §4. */
export const ModelEntry = z.object({
  id: z.string(),
  object: z.literal("model"),
  /** epoch seconds */
  created: z.int(),
  owned_by: z.string(),
  name: z.string(),
  service: z.object({
    nickname: z.string(),
    model: z.string(),
    endpoint: z.string(),
    capabilities: Capabilities,
    connection: Connection,
    load: Load,
  }),
});
export type ModelEntry = z.infer<typeof ModelEntry>;

export const ModelList = z.object({ object: z.literal("list"), data: z.array(ModelEntry) });
export type ModelList = z.infer<typeof ModelList>;
