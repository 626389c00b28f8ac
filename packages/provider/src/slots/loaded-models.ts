import { isObject, isSameModel, type JsonObject } from "@roomhub/protocol";
import { fieldsOf, textOf } from "../translation/chat/provider-field.ts";
import type { ServerProgram } from "../learn/fingerprints.ts";

/** Where a program lists its loaded models. Reading the list loads no model and keeps none loaded. */
export interface LoadedList {
  /** read by GET, below the base URL without its `/v1` */
  path: string;
  /** @returns undefined when the response is not that list */
  modelsIn: (response: JsonObject) => string[] | undefined;
}

/** `name` and `model` are equal and include the tag; a request may leave out `:latest`. */
const ollama: LoadedList = {
  path: "/api/ps",
  modelsIn: ({ models }) => namesIn(models, ({ name, model }) => [name, model]),
};

const lmStudio: LoadedList = {
  path: "/api/v1/models",
  modelsIn: (response) =>
    lmStudioModels(response)
      ?.filter(({ instances }) => instances.length > 0)
      .flatMap(({ key, instances }) => [key, ...instances.map(({ id }) => id)]),
};

/** Before version 0.4. */
const olderLmStudio: LoadedList = {
  path: "/api/v0/models",
  modelsIn: ({ data }) => namesIn(data, ({ id, state }) => (state === "loaded" ? [id] : [])),
};

/**
 * @param description - what the program says of itself, see `Recognised`
 * @returns undefined for a program without such a list
 */
export function loadedListOf(
  program: ServerProgram | undefined,
  description: JsonObject | undefined,
): LoadedList | undefined {
  switch (program) {
    case "Ollama":
      return ollama;
    case "LM Studio":
      return description !== undefined && lmStudioModels(description) === undefined
        ? olderLmStudio
        : lmStudio;
    default:
      return undefined;
  }
}

const maxModels = 64;
const maxNameLength = 256;

/**
 * The names as they are reported: each once, in a stable order, the participant's model under its own name.
 *
 * @param own - the participant's model
 */
export function reportedNames(names: readonly string[], own: string | undefined): string[] {
  const spelled = names
    .filter((name) => name !== "" && name.length <= maxNameLength)
    .map((name) => (own !== undefined && isSameModel(name, own) ? own : name));
  const sorted = [...new Set(spelled)].toSorted();
  // The participant's model counts most: it is the one that requests are for.
  const isListed = own !== undefined && sorted.includes(own);
  const others = isListed ? sorted.filter((name) => name !== own) : sorted;
  return (isListed ? [own, ...others] : others).slice(0, maxModels);
}

function namesIn(list: unknown, namesOf: (entry: JsonObject) => unknown[]): string[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const names = list.filter(isObject).flatMap(namesOf);
  return names.filter((name) => typeof name === "string");
}

/** A model in LM Studio's `GET /api/v1/models`, from version 0.4. */
export interface LmStudioModel {
  key: string;
  /** as loaded: a request names one of these, or the key */
  instances: readonly LmStudioInstance[];
}

interface LmStudioInstance {
  id: string;
  /** requests at once; undefined where it does not say */
  parallel: number | undefined;
}

const maxParallel = 65_536;

/** @returns undefined when the description is not that list: the server is older */
export function lmStudioModels(description: JsonObject): readonly LmStudioModel[] | undefined {
  const { models } = description;
  if (!Array.isArray(models)) return undefined;
  return models.map((model) => {
    const { key, loaded_instances: instances } = fieldsOf(model);
    const list: unknown[] = Array.isArray(instances) ? instances : [];
    return { key: textOf(key), instances: list.map(instanceOf) };
  });
}

function instanceOf(value: unknown): LmStudioInstance {
  const { id, config } = fieldsOf(value);
  const { parallel } = fieldsOf(config);
  const isCount = Number.isInteger(parallel) && (parallel as number) > 0;
  return {
    id: textOf(id),
    parallel: isCount ? Math.min(parallel as number, maxParallel) : undefined,
  };
}
