import { z } from "zod";
import { Capabilities } from "./capability.ts";
import { Features, ModelContext } from "./model-facts.ts";
import { Connection, Load } from "./participant.ts";

/**
 * One entry of `GET …/models`. Interface §2; `name`, `connection`, `load` and the context are additions of contract §4.
 *
 * The size of the context, in tokens, is there under each of the names that clients read; absent when it is not known.
 */
export const ModelEntry = z.object({
  id: z.string(),
  object: z.literal("model"),
  /** epoch seconds */
  created: z.int(),
  owned_by: z.string(),
  name: z.string(),
  context_length: z.int().optional(),
  max_model_len: z.int().optional(),
  max_input_tokens: z.int().optional(),
  meta: z.object({ n_ctx: z.int() }).optional(),
  service: z.object({
    nickname: z.string(),
    model: z.string(),
    endpoint: z.string(),
    capabilities: Capabilities,
    connection: Connection,
    load: Load,
    /** absent where it is not known, or only what the model was trained for */
    context: ModelContext.optional(),
    features: Features.optional(),
  }),
});
export type ModelEntry = z.infer<typeof ModelEntry>;

export const ModelList = z.object({ object: z.literal("list"), data: z.array(ModelEntry) });
export type ModelList = z.infer<typeof ModelList>;

/** One model in Anthropic's list. https://docs.claude.com/en/api/models-list */
export const AnthropicModel = z.object({
  type: z.literal("model"),
  id: z.string(),
  display_name: z.string(),
  /** RFC 3339 */
  created_at: z.string(),
  /** its context, in tokens; absent when it is not known */
  max_input_tokens: z.int().optional(),
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
