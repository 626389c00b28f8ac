import { z } from "zod";

/**
 * What Open Responses 2026-04-24 demands of a response object and of each event, rewritten from the published schema.
 * Further keys are allowed everywhere, as they are there. Marked are OpenAI's additions that clients of custom tools
 * (Codex) read and the published schema does not have.
 */

const count = z.int().min(0);
const itemStatus = z.enum(["in_progress", "completed", "incomplete"]);

const TopLogProb = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()) });
const LogProb = TopLogProb.extend({ top_logprobs: z.array(TopLogProb) });

const Annotation = z.object({
  type: z.literal("url_citation"),
  url: z.string(),
  title: z.string(),
  start_index: z.int(),
  end_index: z.int(),
});

const ContentPart = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("output_text"),
    text: z.string(),
    annotations: z.array(Annotation),
    logprobs: z.array(LogProb).optional(),
  }),
  z.object({ type: z.literal("refusal"), refusal: z.string() }),
  z.object({
    type: z.enum(["input_text", "text", "summary_text", "reasoning_text"]),
    text: z.string(),
  }),
]);

const call = { id: z.string(), call_id: z.string().min(1), name: z.string(), status: itemStatus };

export const OutputItem = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message"),
    id: z.string(),
    status: itemStatus,
    role: z.enum(["user", "assistant", "system", "developer"]),
    content: z.array(ContentPart),
    phase: z.enum(["commentary", "final_answer"]).optional(),
  }),
  z.object({ type: z.literal("function_call"), ...call, arguments: z.string() }),
  z.object({
    type: z.literal("reasoning"),
    id: z.string(),
    status: itemStatus.optional(), // OpenAI's
    summary: z.array(ContentPart),
    content: z.array(ContentPart).optional(),
    encrypted_content: z.string().optional(),
  }),
  z.object({ type: z.literal("compaction"), id: z.string(), encrypted_content: z.string() }),
  z.object({ type: z.literal("custom_tool_call"), ...call, input: z.string() }), // OpenAI's
]);
export type OutputItem = z.infer<typeof OutputItem>;

const FunctionTool = z.object({
  type: z.literal("function"),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.record(z.string(), z.unknown()).nullable(),
  strict: z.boolean().nullable(),
});

const toolMode = z.enum(["none", "auto", "required"]);
const FunctionChoice = z.object({ type: z.literal("function"), name: z.string().optional() });
const ToolChoice = z.union([
  toolMode,
  FunctionChoice,
  z.object({
    type: z.literal("allowed_tools"),
    tools: z.array(FunctionChoice),
    mode: toolMode,
  }),
]);

const Text = z.object({
  format: z.discriminatedUnion("type", [
    z.object({ type: z.enum(["text", "json_object"]) }),
    z.object({
      type: z.literal("json_schema"),
      name: z.string(),
      description: z.string().nullable(),
      schema: z.unknown(),
      strict: z.boolean(),
    }),
  ]),
  verbosity: z.enum(["low", "medium", "high"]).optional(),
});

const Usage = z.object({
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  input_tokens_details: z.object({ cached_tokens: count }),
  output_tokens_details: z.object({ reasoning_tokens: count }),
});

const Reasoning = z.object({
  effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).nullable(),
  summary: z.enum(["concise", "detailed", "auto"]).nullable(),
});

/** All 31 keys are required. */
export const ResponseResource = z.object({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.enum(["queued", "in_progress", "completed", "incomplete", "failed"]),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(OutputItem),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(FunctionTool),
  tool_choice: ToolChoice,
  truncation: z.enum(["auto", "disabled"]),
  parallel_tool_calls: z.boolean(),
  text: Text,
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: Reasoning.nullable(),
  usage: Usage.nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  // `unknown` in the schema, which demands no key; the compliance suite does.
  metadata: z.record(z.string(), z.unknown()),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
});

function event<Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) {
  return z.object({ type: z.literal(type), sequence_number: count, ...shape });
}

const snapshot = { response: ResponseResource };
const item = { output_index: count, item: OutputItem };
const inItem = { item_id: z.string(), output_index: count };
const inContent = { ...inItem, content_index: count };
const inSummary = { ...inItem, summary_index: count };
const delta = { delta: z.string() };
const logprobs = { logprobs: z.array(LogProb).optional() };

/** The 24 of the specification, and two of OpenAI's. */
export const StreamEvent = z.discriminatedUnion("type", [
  event("response.created", snapshot),
  event("response.queued", snapshot),
  event("response.in_progress", snapshot),
  event("response.completed", snapshot),
  event("response.failed", snapshot),
  event("response.incomplete", snapshot),
  event("response.output_item.added", item),
  event("response.output_item.done", item),
  event("response.content_part.added", { ...inContent, part: ContentPart }),
  event("response.content_part.done", { ...inContent, part: ContentPart }),
  event("response.output_text.delta", { ...inContent, ...delta, ...logprobs }),
  event("response.output_text.done", { ...inContent, text: z.string(), ...logprobs }),
  event("response.output_text.annotation.added", {
    ...inContent,
    annotation_index: count,
    annotation: Annotation.nullable(),
  }),
  event("response.refusal.delta", { ...inContent, ...delta }),
  event("response.refusal.done", { ...inContent, refusal: z.string() }),
  event("response.reasoning.delta", { ...inContent, ...delta }),
  event("response.reasoning.done", { ...inContent, text: z.string() }),
  event("response.reasoning_summary_part.added", { ...inSummary, part: ContentPart }),
  event("response.reasoning_summary_part.done", { ...inSummary, part: ContentPart }),
  event("response.reasoning_summary_text.delta", { ...inSummary, ...delta }),
  event("response.reasoning_summary_text.done", { ...inSummary, text: z.string() }),
  event("response.function_call_arguments.delta", { ...inItem, ...delta }),
  event("response.function_call_arguments.done", { ...inItem, arguments: z.string() }),
  event("error", {
    error: z.object({
      type: z.string(),
      code: z.string().nullable(),
      message: z.string(),
      param: z.string().nullable(),
    }),
  }),
  // OpenAI's
  event("response.custom_tool_call_input.delta", { ...inItem, ...delta }),
  event("response.custom_tool_call_input.done", { ...inItem, input: z.string() }),
]);
export type StreamEvent = z.infer<typeof StreamEvent>;
