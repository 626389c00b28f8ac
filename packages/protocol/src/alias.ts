import { z } from "zod";

/** A name, or names of one form, that stand for others in a room. Contract §3, "Aliases". */
export const Alias = z.object({
  /** compared with the `model` field of requests; `*` stands for any text, also for none */
  pattern: z.string(),
  /** values of the `model` field, in the order in which they are tried */
  targets: z.array(z.string()).min(1),
  /** epoch ms */
  createdAt: z.number(),
});
export type Alias = z.infer<typeof Alias>;

/** Response to `POST …/aliases`. */
export const AliasResponse = z.object({ alias: Alias });
export type AliasResponse = z.infer<typeof AliasResponse>;

/** Response to `GET …/aliases`, the oldest first. */
export const AliasListResponse = z.object({ aliases: z.array(Alias) });
export type AliasListResponse = z.infer<typeof AliasListResponse>;
