import type { Features, ModelContext, ParticipantSummary } from "@roomhub/protocol";

/** A context in a few characters: `8k`, `40k trained`, `4k, cuts`; empty when nothing is known. */
export function contextText(context: ModelContext | undefined): string {
  if (context === undefined) return "";
  const { tokens, from, mayTruncate } = context;
  if (from === "trained") return `${tokensText(tokens)} trained`;
  return mayTruncate === true ? `${tokensText(tokens)}, cuts` : tokensText(tokens);
}

/** A number of tokens as model servers count them: `8k` is 8,192. */
export function tokensText(tokens: number): string {
  if (tokens % 1_024 === 0) return `${tokens / 1_024}k`;
  return tokens < 1_000 ? String(tokens) : `${Math.round(tokens / 1_000)}k`;
}

const flags = ["tools", "vision", "reasoning", "logprobs"] as const;

/** What a model is known to do, in words; a schema that is only tried has a `?`. Empty when nothing is known. */
export function featureWords(features: Features | undefined): string[] {
  if (features === undefined) return [];
  const words: string[] = flags.filter((name) => features[name] === "supported");
  if (features.structuredOutput === "enforced") words.push("schema");
  if (features.structuredOutput === "best-effort") words.push("schema?");
  return words;
}

/** The model, and the one that its responses name, when that is another. */
export function modelText({ model, answersAs }: Pick<ParticipantSummary, "model" | "answersAs">) {
  return answersAs === undefined ? model : `${model} (answers as ${answersAs})`;
}
