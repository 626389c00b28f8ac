import type { ServerProgram } from "../learn/fingerprints.ts";
import { lmStudioModels } from "./lm-studio-models.ts";

/** As many as a hub sends to one participant by default, and as vLLM's own `max_num_seqs`. */
const many = 256;

/** Programs that report no number. Ollama does not show its `OLLAMA_NUM_PARALLEL`, whose default is 1. */
const byProgram: Readonly<Partial<Record<ServerProgram, number>>> = {
  Ollama: 1,
  vLLM: many,
  SGLang: many,
  OpenAI: many,
  cloud: many,
};

/** LM Studio's default of Max Concurrent Predictions. */
const lmStudioDefault = 4;

/**
 * How many requests a recognised program runs at once, without reading its slots.
 *
 * @param description - what the program says of itself, see `Recognised`
 * @param model - the participant's
 * @returns undefined for a program that is not recognised, and for llama.cpp, whose slots are read
 */
export function usualSlots(
  program: ServerProgram | undefined,
  description: Record<string, unknown> | undefined,
  model: string | undefined,
): number | undefined {
  if (program === undefined) return undefined;
  return program === "LM Studio" ? lmStudioSlots(description, model) : byProgram[program];
}

/** `parallel` of the loaded instance. Before version 0.4, which has no such list, requests run one after the other. */
function lmStudioSlots(
  description: Record<string, unknown> | undefined,
  model: string | undefined,
): number {
  if (description === undefined) return lmStudioDefault;
  const models = lmStudioModels(description);
  if (models === undefined) return 1;
  const instance =
    models.flatMap(({ instances }) => instances).find(({ id }) => id === model) ??
    models.find(({ key }) => key === model)?.instances[0];
  return instance?.parallel ?? lmStudioDefault;
}
