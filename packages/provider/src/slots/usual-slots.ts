import type { JsonObject } from "@roomhub/protocol";
import type { ServerProgram } from "../learn/fingerprints.ts";
import { lmStudioModels } from "./loaded-models.ts";

/** As many as a hub sends to one participant by default, and as vLLM's own `max_num_seqs`. */
const many = 256;

/** mlx-lm's default of `--decode-concurrency`. */
const mlxBatch = 32;

/** For programs that report no number. Ollama does not report `OLLAMA_NUM_PARALLEL`, whose default is 1. */
const byProgram: Readonly<Partial<Record<ServerProgram, number>>> = {
  Ollama: 1,
  vLLM: many,
  SGLang: many,
  TGI: many,
  "TensorRT-LLM": many,
  LMDeploy: many,
  OpenAI: many,
  cloud: many,
  gateway: many,
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
  description: JsonObject | undefined,
  model: string | undefined,
): number | undefined {
  if (program === undefined) return undefined;
  if (program === "mlx-lm") return batchesIn(description) ? mlxBatch : 1;
  return program === "LM Studio" ? lmStudioSlots(description, model) : byProgram[program];
}

/**
 * mlx-lm batches from version 0.30 for certain (ml-explore/mlx-lm#626), and its version is only in what it generates:
 * `get_system_fingerprint` in mlx_lm/server.py begins with it.
 */
function batchesIn(description: JsonObject | undefined): boolean {
  const fingerprint = description?.["system_fingerprint"];
  if (typeof fingerprint !== "string") return false;
  const [, major = "0", minor = "0"] = /^(\d+)\.(\d+)\./.exec(fingerprint) ?? [];
  return Number(major) > 0 || Number(minor) >= 30;
}

/** `parallel` of the loaded instance. Before version 0.4, which has no such list, requests run one after the other. */
function lmStudioSlots(description: JsonObject | undefined, model: string | undefined): number {
  if (description === undefined) return lmStudioDefault;
  const models = lmStudioModels(description);
  if (models === undefined) return 1;
  const instance =
    models.flatMap(({ instances }) => instances).find(({ id }) => id === model) ??
    models.find(({ key }) => key === model)?.instances[0];
  return instance?.parallel ?? lmStudioDefault;
}
