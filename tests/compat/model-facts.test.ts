import { readFileSync } from "node:fs";
import type { ParticipantSummary } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { tableRows } from "../support/documents/markdown-table.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { type RoutedAnswer, startRoutedProvider } from "../support/providers/routed-provider.ts";
import { startRecordedLlama } from "../support/providers/recorded-llama.ts";
import { until } from "../support/waiting.ts";
import { DOCUMENT } from "./table.ts";

/** What a model server says of its model, by `METHOD /path`. */
type Said = Record<string, unknown>;

interface Row {
  server: string;
  model: string;
  /** `recorded` by a real server, else the shape that its manual documents */
  said: "recorded" | Said;
}

const list = (entry: object, ownedBy = "someone"): Said => ({
  "GET /models": { object: "list", data: [{ object: "model", owned_by: ownedBy, ...entry }] },
});

const ollama = (running: object[]): Said => ({
  ...list({ id: "qwen3:8b" }, "library"),
  "GET /api/version": { version: "0.33.1" },
  "GET /api/ps": { models: running },
  "POST /api/show": {
    parameters: 'stop                           "<|im_end|>"\ntemperature                    0.6',
    details: { format: "gguf", family: "qwen3" },
    model_info: { "general.architecture": "qwen3", "qwen3.context_length": 40_960 },
    capabilities: ["completion", "tools", "thinking"],
  },
});

const rows: readonly Row[] = [
  { server: "llama.cpp", model: "tiny", said: "recorded" },
  {
    server: "Ollama, model loaded",
    model: "qwen3:8b",
    said: ollama([{ name: "qwen3:8b", model: "qwen3:8b", context_length: 8_192 }]),
  },
  { server: "Ollama, model not loaded yet", model: "qwen3:8b", said: ollama([]) },
  {
    server: "Ollama, `num_ctx` in the Modelfile",
    model: "gemma4:12b-mlx",
    said: {
      ...list({ id: "gemma4:12b-mlx" }, "library"),
      "GET /api/version": { version: "0.33.1" },
      "GET /api/ps": { models: [] },
      "POST /api/show": {
        parameters: "num_ctx                        16384",
        details: { format: "safetensors" },
        model_info: { "general.architecture": "gemma4", "gemma4.context_length": 131_072 },
        capabilities: ["completion", "vision"],
      },
    },
  },
  {
    server: "LM Studio",
    model: "qwen/qwen3-8b",
    said: {
      ...list({ id: "qwen/qwen3-8b" }, "organization_owner"),
      "GET /api/v1/models": {
        models: [
          {
            ...{ type: "llm", key: "qwen/qwen3-8b", max_context_length: 40_960 },
            loaded_instances: [{ id: "qwen/qwen3-8b", config: { context_length: 8_192 } }],
            capabilities: { vision: false, trained_for_tool_use: true },
          },
        ],
      },
    },
  },
  {
    server: "LM Studio before 0.4",
    model: "qwen2-vl-7b",
    said: {
      ...list({ id: "qwen2-vl-7b" }, "organization_owner"),
      "GET /api/v1/models": { error: "Unexpected endpoint or method. (GET /api/v1/models)" },
      "GET /api/v0/models": {
        object: "list",
        data: [
          {
            ...{ id: "qwen2-vl-7b", type: "vlm", state: "loaded", capabilities: ["tool_use"] },
            ...{ max_context_length: 32_768, loaded_context_length: 4_096 },
          },
        ],
      },
    },
  },
  {
    server: "vLLM",
    model: "Qwen/Qwen3-8B",
    said: list({ id: "Qwen/Qwen3-8B", root: "Qwen/Qwen3-8B", max_model_len: 40_960 }, "vllm"),
  },
  {
    server: "SGLang",
    model: "Qwen/Qwen3-8B",
    said: list({ id: "Qwen/Qwen3-8B", root: "Qwen/Qwen3-8B", max_model_len: 32_768 }, "sglang"),
  },
  {
    server: "TGI",
    model: "Qwen/Qwen3-8B",
    said: {
      ...list({ id: "Qwen/Qwen3-8B" }, "Qwen/Qwen3-8B"),
      "GET /info": {
        ...{ model_id: "Qwen/Qwen3-8B", max_concurrent_requests: 128 },
        ...{ max_input_tokens: 4_095, max_total_tokens: 4_096 },
      },
    },
  },
  {
    server: "OpenRouter",
    model: "z-ai/glm-5",
    said: list({
      ...{ id: "z-ai/glm-5", context_length: 204_800 },
      top_provider: { context_length: 131_072, max_completion_tokens: 98_304 },
      architecture: { input_modalities: ["text"], output_modalities: ["text"] },
      supported_parameters: ["tools", "reasoning", "response_format", "structured_outputs"],
    }),
  },
  {
    server: "Groq",
    model: "openai/gpt-oss-20b",
    said: list({ id: "openai/gpt-oss-20b", active: true, context_window: 131_072 }),
  },
  {
    server: "Mistral",
    model: "devstral-medium",
    said: list({ id: "devstral-medium", max_context_length: 131_072 }),
  },
  {
    server: "another roomhub",
    model: "ana-qwen3",
    said: list({
      ...{ id: "ana-qwen3", context_length: 8_192, meta: { n_ctx: 8_192 } },
      service: { model: "qwen3", features: { tools: "supported", structuredOutput: "enforced" } },
    }),
  },
  { server: "one that says nothing", model: "m", said: list({ id: "m" }) },
];

async function startServer({ said }: Row) {
  if (said === "recorded") return startRecordedLlama();
  const routes = Object.entries(said).map(
    ([line, json]) => [line, (): RoutedAnswer => ({ json })] as const,
  );
  return startRoutedProvider(Object.fromEntries(routes));
}

/** The cells of a row as they are documented. */
function cellsOf({ said, server }: Row, { context, features }: ParticipantSummary): string[] {
  const flags = [
    context?.countsMaxTokens === true ? "with `max_tokens`" : undefined,
    context?.mayTruncate === true ? "truncates" : undefined,
  ].filter((flag) => flag !== undefined);
  const known = Object.entries(features ?? {}).filter(([, value]) => value !== "unknown");
  return [
    server,
    said === "recorded" ? "recorded" : "documented",
    context === undefined ? "—" : [`${context.tokens}, ${context.from}`, ...flags].join(", "),
    known.map(([name, value]) => `${name} ${value}`).join(", ") || "—",
  ];
}

test.each(rows)("$server: context and features are listed as documented", async (row) => {
  await using server = await startServer(row);
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using _ada = await joinTunnel(hub, code, { endpoint: server.url, model: row.model });
  const documented = tableRows(readFileSync(DOCUMENT, "utf8"), ["Model server", "Shape"]);
  const expected = documented.find(([name]) => name === row.server);
  const cells = await until(
    "the participant as documented",
    async () => cellsOf(row, (await hub.client.listParticipants(code))[0] as ParticipantSummary),
    (seen) => JSON.stringify(seen) === JSON.stringify(expected),
  );
  expect(cells).toEqual(expected);
});

test("every row about model servers is a test", () => {
  const documented = tableRows(readFileSync(DOCUMENT, "utf8"), ["Model server", "Shape"]);
  expect(documented.map(([name]) => name)).toEqual(rows.map(({ server }) => server));
});
