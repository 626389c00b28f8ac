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
export function lmStudioModels(
  description: Record<string, unknown>,
): readonly LmStudioModel[] | undefined {
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

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
