import { z } from "zod";
import { CapabilityValue } from "./capability.ts";

/**
 * Where the size of a context is known from: `loaded` is what the model server runs the model with now, or ran it with
 * last; `configured` what its list of models or its configuration says; `declared` the join; `learned` an error that
 * named it; `trained` what the model was made for. Contract §3, "Context".
 */
export const ContextSource = z.enum(["loaded", "configured", "declared", "learned", "trained"]);
export type ContextSource = z.infer<typeof ContextSource>;

/** Tokens of prompt and output together that a participant's model takes. */
export const ModelContext = z.object({
  tokens: z.int().min(1),
  from: ContextSource,
  /** The model server refuses a prompt that leaves no room for `max_tokens`: vLLM does. */
  countsMaxTokens: z.boolean().optional(),
  /** The model server cuts a longer prompt without saying so: Ollama does. */
  mayTruncate: z.boolean().optional(),
});
export type ModelContext = z.infer<typeof ModelContext>;

/** How a server treats the JSON schema of a request. */
export const StructuredOutput = z.enum(["enforced", "best-effort", "ignored", "unknown"]);
export type StructuredOutput = z.infer<typeof StructuredOutput>;

/** What a participant's model can do behind its model server. Contract §3, "Features". */
export const Features = z.object({
  tools: CapabilityValue,
  vision: CapabilityValue,
  reasoning: CapabilityValue,
  structuredOutput: StructuredOutput,
  logprobs: CapabilityValue,
});
export type Features = z.infer<typeof Features>;

const Ability = z.enum(["supported", "unsupported"]);

/** What requests to a participant have shown of its model. Contract §3, "Features". */
export const MeasuredFeatures = z.object({
  tools: Ability.optional(),
  vision: Ability.optional(),
  /** A response that fits its schema does not show that it was enforced. */
  structuredOutput: StructuredOutput.extract(["best-effort", "ignored"]).optional(),
});
export type MeasuredFeatures = z.infer<typeof MeasuredFeatures>;
