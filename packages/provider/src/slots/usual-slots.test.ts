import { expect, test } from "vitest";
import type { ServerProgram } from "../learn/fingerprints.ts";
import { usualSlots } from "./slot-watch.ts";

test.each<[ServerProgram | undefined, number | undefined]>([
  ["Ollama", 1],
  ["vLLM", 256],
  ["SGLang", 256],
  ["OpenAI", 256],
  ["whisper.cpp", 1],
  ["cloud", 256],
  ["llama.cpp", undefined],
  [undefined, undefined],
])("%s runs %s requests at once, as far as is known without its slots", (program, expected) => {
  expect(usualSlots(program, {}, "m")).toBe(expected);
});

const instance = (id: string, parallel: unknown) => ({ id, config: { parallel } });
const listOf = (...instances: object[]) => ({
  models: [
    { key: "other", loaded_instances: [instance("other", 9)] },
    { key: "qwen/qwen3-8b", loaded_instances: instances },
  ],
});

test.each<[string, object | undefined, number]>([
  ["as its loaded model reports", listOf(instance("qwen/qwen3-8b", 2)), 2],
  [
    "as the instance reports that has the model's name",
    listOf(instance("a", 7), instance("qwen/qwen3-8b", 3)),
    3,
  ],
  ["as the first instance of the model reports", listOf(instance("a", 7), instance("b", 3)), 7],
  ["4, its default, while the model is not loaded", listOf(), 4],
  ["4 when the instance does not report it", listOf({ id: "qwen/qwen3-8b" }), 4],
  ["4 when it reports nonsense", listOf(instance("qwen/qwen3-8b", -1)), 4],
  ["4 when its list cannot be read", undefined, 4],
  ["1 before version 0.4, which has no such list", { error: "Unexpected endpoint" }, 1],
])("LM Studio runs as many requests at once %s", (_what, description, expected) => {
  const fields = description as Record<string, unknown> | undefined;
  expect(usualSlots("LM Studio", fields, "qwen/qwen3-8b")).toBe(expected);
});

test("nothing in LM Studio's list is trusted to have its form", () => {
  for (const models of [[null], [7], [{ loaded_instances: "x" }], [{ loaded_instances: [null] }]]) {
    expect(usualSlots("LM Studio", { models }, "m")).toBe(4);
  }
});
