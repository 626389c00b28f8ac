import { z } from "zod";

/** One model in Anthropic's list. https://docs.claude.com/en/api/models-list */
export const AnthropicModel = z.object({
  type: z.literal("model"),
  id: z.string(),
  display_name: z.string(),
  /** RFC 3339 */
  created_at: z.string(),
});
export type AnthropicModel = z.infer<typeof AnthropicModel>;

/** `GET …/models` for clients that send `anthropic-version`: one page that has all. Contract §4, "Models list". */
export const AnthropicModelList = z.object({
  data: z.array(AnthropicModel),
  has_more: z.literal(false),
  /** null for an empty list */
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});
export type AnthropicModelList = z.infer<typeof AnthropicModelList>;
