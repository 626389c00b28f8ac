import { expect, test } from "vitest";
import { ModelServer } from "../model-server.ts";
import { listen, type Reply, scriptServer } from "../scripted-server.fixture.ts";

const json = (value: unknown, headers: Record<string, string> = {}): Reply => ({
  headers,
  body: JSON.stringify(value),
});
const listOf = (...data: object[]) => ({ object: "list", data });
const entry = (owner?: string) => ({
  ...{ id: "org/model", object: "model", created: 1_677_610_602 },
  ...(owner === undefined ? {} : { owned_by: owner }),
});

/** What each program returns, as far as it is known by. Where the shapes are from: `learn/listed-program.ts`. */
const servers: Record<string, Record<string, Reply>> = {
  "LiteLLM, whose list of paths is too long to be read": {
    "GET /v1/models": json(listOf(entry("openai"))),
    "GET /openapi.json": { body: "x".repeat(1024 * 1024 + 1) },
    "POST /v1/chat/completions": {
      ...json({ error: { message: "Invalid model name", type: null, param: null, code: "400" } }),
      ...{ status: 400, headers: { "x-litellm-version": "1.88.0", "x-litellm-call-id": "0d41" } },
    },
  },
  "LiteLLM, by the paths that it lists": {
    "GET /v1/models": json(listOf(entry("openai"))),
    "GET /openapi.json": json({
      info: { title: "LiteLLM API", version: "1.88.0" },
      paths: {
        "/v1/chat/completions": {},
        "/v1/responses": {},
        "/health/readiness": {},
        "/key/generate": {},
      },
    }),
  },
  Bifrost: {
    "GET /v1/models": json({
      data: [{ id: "openai/gpt-4o", name: "gpt-4o", owned_by: "openai" }],
      extra_fields: { request_type: "list_models", provider: "openai", latency: 12 },
    }),
  },
  "Portkey, with the list of the server behind it": {
    "GET /v1/models": json(listOf(entry("vllm")), {
      "x-portkey-last-used-option-index": "config",
      "x-portkey-trace-id": "fe7cd013-3699-46db-a656-03cbbff57eec",
      "x-portkey-retry-attempt-count": "0",
      "x-portkey-provider": "openai",
    }),
  },
  "one-api": {
    "GET /v1/models": json(
      listOf({ ...entry("openai"), permission: [], root: "m", parent: null }),
      {
        "x-oneapi-request-id": "2026112315420184733",
      },
    ),
  },
  "new-api": {
    "GET /v1/models": json(
      { ...listOf({ ...entry("custom"), supported_endpoint_types: ["openai"] }), success: true },
      { "x-new-api-version": "v1.0.0-rc.24" },
    ),
  },
  "another hub": {
    "GET /v1/models": json(
      listOf({
        ...{ ...entry("Ada"), id: "ada-qwen3", name: "Ada (qwen3)" },
        service: { nickname: "Ada", model: "qwen3", endpoint: "http://127.0.0.1:8080/v1" },
        connection: { kind: "tunnel", connected: true, path: "tunnel", readiness: "ready" },
        load: { active: 0, queued: 0, limit: 4, limitFrom: "default" },
      }),
    ),
  },
  TGI: {
    "GET /v1/models": json(listOf({ ...entry("org/model"), created: 0 })),
    "GET /info": json({
      ...{ model_id: "org/model", model_sha: "e76b982", model_pipeline_tag: "text-generation" },
      ...{ max_concurrent_requests: 128, max_best_of: 2, max_stop_sequences: 4, version: "3.3.4" },
      ...{ router: "text-generation-router", sha: "e76b982", docker_label: "sha-e76b982" },
    }),
  },
  "TensorRT-LLM": {
    "GET /v1/models": json(listOf(entry("tensorrt_llm"))),
    "GET /openapi.json": json({
      paths: {
        ...{ "/health": {}, "/version": {}, "/metrics": {}, "/kv_cache_events": {} },
        ...{ "/v1/models": {}, "/v1/completions": {}, "/v1/chat/completions": {} },
      },
    }),
  },
  LMDeploy: {
    "GET /v1/models": json(
      listOf({ ...entry("lmdeploy"), root: "org/model", parent: null, permission: [] }),
    ),
    "GET /openapi.json": json({
      paths: {
        ...{ "/v1/models": {}, "/v1/chat/completions": {}, "/v1/completions": {}, "/health": {} },
        ...{ "/v1/encode": {}, "/generate": {}, "/distserve/engine_info": {} },
      },
    }),
  },
};

const mlx: Record<string, Reply> = {
  "GET /v1/models": json(listOf(entry()), { server: "BaseHTTP/0.6 Python/3.12.7" }),
  "GET /health": json({ status: "ok" }, { server: "BaseHTTP/0.6 Python/3.12.7" }),
};

async function meet(script: Record<string, Reply>) {
  const provider = scriptServer(({ line }) => script[line]);
  const server = new ModelServer({
    call: provider.call,
    baseUrl: "http://127.0.0.1:5000/v1",
    headers: () => ({}),
    declared: () => ({}),
    onCapabilities: () => {},
  });
  await server.probe(1_000);
  // Lets every response come that comes without time passing.
  for (let turn = 0; turn < 60; turn++) await new Promise((resolve) => setImmediate(resolve));
  return { server, lines: provider.lines() };
}

for (const [name, script] of Object.entries(servers)) {
  test(`${name} queues requests itself`, async () => {
    const { server, lines } = await meet(script);
    expect(server.engine).toEqual({ slots: 256, elsewhere: 0 });
    expect(lines.length).toBeLessThanOrEqual(10);
  });
}

test("a gateway that its list gives away gets no request for the description of another program", async () => {
  const { lines } = await meet(servers["one-api"] ?? {});
  expect(lines.filter((line) => line.startsWith("GET "))).toEqual(["GET /v1/models"]);
});

test.each<[string, Record<string, Reply>]>([
  ["lists a model that owns itself", { ...servers["TGI"], "GET /info": json({ version: "1" }) }],
  ["is written in Python", { ...mlx, "GET /health": json({ status: "ok", workers: 2 }) }],
])("a server that only %s is not known to queue", async (_what, script) => {
  const { server } = await meet(script);
  expect(server.engine).toBeUndefined();
});

test.each([
  ["0.30.1-0.30.1-macOS-15.7.4-arm64-arm-64bit-applegpu_g13s", 32],
  ["1.0.0-1.0.0-macOS-26.2-arm64-arm-64bit-applegpu_g17s", 32],
  ["0.26.2-0.27.1-macOS-15.7.4-arm64-arm-64bit-applegpu_g13s", 1],
])(
  "mlx-lm with %s runs %s requests at once, and one before its first response",
  async (version, slots) => {
    const chunk = {
      id: "chatcmpl-1",
      system_fingerprint: version,
      object: "chat.completion.chunk",
    };
    for (const reply of [
      json({ ...chunk, choices: [], model: "m" }),
      {
        type: "event-stream",
        body: [": keepalive 5/10\n\n", `data: ${JSON.stringify(chunk)}\n\n`, "data: [DONE]\n\n"],
      },
    ]) {
      const { server } = await meet({ ...mlx, "POST /v1/chat/completions": reply });
      expect(server.engine).toEqual({ slots: 1, elsewhere: 0 });
      await listen(server, { path: "/chat/completions", body: [Buffer.from("{}")] }).closed;
      expect(server.engine).toEqual({ slots, elsewhere: 0 });
    }
  },
);
