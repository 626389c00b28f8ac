import { expect, test } from "vitest";
import { systemWorld } from "@roomhub/protocol";
import { SimulatedWorld } from "../../../protocol/src/simulated-world.fixture.ts";
import { type DiscoveryOptions, discoverCapabilities } from "./capabilities.ts";
import { type SeenRequest, type Reply, scriptServer } from "../scripted-server.fixture.ts";

type Script = Record<string, Reply>;

const json = (value: unknown): Reply => ({ body: JSON.stringify(value) });
const refusal: Reply = { status: 400, body: '{"error":{"message":"model is required"}}' };

/** What is left open where there are responses. */
const besideResponses = ["POST /v1/responses/compact", "POST /v1/responses/input_tokens"];

async function discover(
  script: Script,
  {
    baseUrl = "http://127.0.0.1:5000/v1",
    ...over
  }: Partial<DiscoveryOptions> & { baseUrl?: string } = {},
) {
  const server = scriptServer(({ line }) => script[line]);
  const headers = () => ({ authorization: "Bearer k" });
  const found = await discoverCapabilities({
    server: { call: server.call, baseUrl, headers, world: systemWorld },
    found: {},
    declared: {},
    ...over,
  });
  const { capabilities, program } = found;
  return { found: capabilities, program, requested: server.lines(), requests: server.requests };
}

test.each([
  ["0.13.2", "unsupported", "unsupported"],
  ["0.13.3", "supported", "unsupported"],
  ["0.14.0-rc1", "supported", "supported"],
  ["1.0.0", "supported", "supported"],
])("Ollama %s: responses %s, messages %s, by its version", async (version, own, messages) => {
  const { found, program, requested } = await discover(
    { "GET /api/version": json({ version }) },
    { baseUrl: "http://127.0.0.1:11434/v1" },
  );
  expect(found).toMatchObject({ openResponses: own, messages, chatCompletions: "supported" });
  expect(found).toMatchObject({ storedResponses: "unsupported", streamUsage: "supported" });
  expect(program).toBe("Ollama");
  expect(requested).toEqual(["GET /api/version", ...(own === "supported" ? besideResponses : [])]);
});

test("a home-made Ollama does not report its version, so its responses are requested, empty", async () => {
  const { found, requested } = await discover(
    { "GET /api/version": json({ version: "0.0.0" }), "POST /v1/responses": refusal },
    { found: { program: "Ollama" } },
  );
  expect(found).toMatchObject({ openResponses: "supported", chatCompletions: "supported" });
  expect(requested).toEqual([
    "GET /api/version",
    "POST /v1/responses",
    "POST /v1/messages",
    ...besideResponses,
  ]);
});

test("a version among other things is not Ollama's", async () => {
  const { found } = await discover({ "GET /api/version": json({ version: "1.0.0", id: "x" }) });
  expect(found).toEqual({
    openResponses: "unsupported",
    chatCompletions: "unsupported",
    messages: "unsupported",
  });
});

test("LM Studio is known by its list of instances; an older one by how it says that there is none", async () => {
  const port = { baseUrl: "http://127.0.0.1:1234/v1" };
  const models = json({ models: [{ key: "qwen", loaded_instances: [] }] });
  const now = await discover({ "GET /api/v1/models": models }, port);
  expect(now.found).toMatchObject({ openResponses: "supported", storedResponses: "supported" });
  expect(now.requested).toEqual(["GET /api/v1/models", "POST /v1/messages", ...besideResponses]);
  const no = json({ error: "Unexpected endpoint or method. (POST /v1/responses)" });
  const older = await discover({ "GET /api/v1/models": no, "POST /v1/responses": no }, port);
  expect(older.found).toMatchObject({ openResponses: "unsupported", chatCompletions: "supported" });
  expect(older.requested).toEqual([
    "GET /api/v1/models",
    "POST /v1/responses",
    "POST /v1/messages",
  ]);
});

const llamaProps = json({ default_generation_settings: {}, total_slots: 1 });

test("llama.cpp stores no responses; the paths it has depend on the build, so each gets an empty body", async () => {
  const missing = { status: 500, body: `{"error":{"message":"'messages' is required"}}` };
  const { found, program, requested, requests } = await discover(
    {
      "GET /props": llamaProps,
      "POST /v1/responses": refusal,
      "POST /v1/messages": missing,
      "POST /v1/responses/input_tokens": refusal,
    },
    { found: { program: "llama.cpp" } },
  );
  expect(found).toMatchObject({
    openResponses: "supported",
    storedResponses: "unsupported",
    messages: "supported",
    responsesCompact: "unsupported",
    responsesInputTokens: "supported",
  });
  expect(found).not.toHaveProperty("embeddings");
  expect(program).toBe("llama.cpp");
  expect(requested).toEqual([
    "GET /props",
    "POST /v1/responses",
    "POST /v1/messages",
    ...besideResponses,
  ]);
  expect(requests.map(({ body }) => body)).toEqual(["", "{}", "{}", "{}", "{}"]);
});

test("a llama.cpp that sleeps gets no POST, which would load its model", async () => {
  const props = json({ default_generation_settings: {}, is_sleeping: true });
  const { found, requested } = await discover(
    { "GET /props": props },
    { found: { program: "llama.cpp" } },
  );
  expect(found).toMatchObject({ chatCompletions: "supported" });
  expect(found).not.toHaveProperty("openResponses");
  expect(requested).toEqual(["GET /props"]);
});

test("llama.cpp reports the usage of streams by itself, in builds that have a number", async () => {
  const props = { default_generation_settings: {}, build_info: "b1-de3ff81" };
  const { found } = await discover(
    { "GET /props": json(props) },
    { found: { program: "llama.cpp" } },
  );
  expect(found).toMatchObject({ implicitUsage: "supported", streamUsage: "supported" });
  const { found: older } = await discover(
    { "GET /props": json({ default_generation_settings: {} }) },
    { found: { program: "llama.cpp" } },
  );
  expect(older).not.toHaveProperty("implicitUsage");
});

test("what vLLM lists it has, and nothing else", async () => {
  const paths = {
    "/v1/chat/completions": {},
    "/v1/embeddings": {},
    "/v1/rerank": {},
    "/v2/rerank": {},
    "/tokenize": {},
    "/version": {},
  };
  const { found, requested } = await discover(
    { "GET /openapi.json": json({ paths }) },
    { baseUrl: "http://127.0.0.1:8000/v1" },
  );
  expect(found).toEqual({
    chatCompletions: "supported",
    embeddings: "supported",
    rerank: "supported",
    rerankV2: "supported",
    audioSpeech: "unsupported",
    imageGenerations: "unsupported",
    imageEdits: "unsupported",
    audioTranscriptions: "unsupported",
    audioTranslations: "unsupported",
    openResponses: "unsupported",
    completions: "unsupported",
    messages: "unsupported",
    responsesCompact: "unsupported",
    responsesInputTokens: "unsupported",
    streamUsage: "supported",
    storedResponses: "unsupported",
  });
  expect(requested).toEqual(["GET /openapi.json"]);
});

test("SGLang lists its paths where vLLM does, and is recognised by a path of its own", async () => {
  const paths = {
    "/v1/chat/completions": {},
    "/tokenize": {},
    "/version": {},
    "/get_model_info": {},
  };
  const { found, program, requested } = await discover(
    { "GET /openapi.json": json({ paths }) },
    { baseUrl: "http://127.0.0.1:30000/v1" },
  );
  expect(program).toBe("SGLang");
  expect(found).toMatchObject({ chatCompletions: "supported", openResponses: "unsupported" });
  expect(found).not.toHaveProperty("storedResponses");
  expect(requested).toEqual(["GET /openapi.json"]);
  const named = await discover({}, { found: { program: "SGLang" } });
  expect(named.program).toBe("SGLang");
});

test.each([
  ["/inference", "whisper.cpp", "supported"],
  ["/v1/audio/transcriptions", undefined, "unsupported"],
])("whisper.cpp that transcribes at %s is taken for %s", async (path, expected, translates) => {
  const { found, program, requested } = await discover(
    { "GET /": { body: `<form action="${path}" method="POST">` } },
    { found: { program: "whisper.cpp" } },
  );
  expect(program).toBe(expected);
  expect(found).toMatchObject({
    audioTranscriptions: "supported",
    audioTranslations: translates,
  });
  expect(found).toMatchObject({ chatCompletions: "unsupported", rerank: "unsupported" });
  expect(requested).toEqual(["GET /"]);
});

test("another server that lists its paths is not taken for vLLM", async () => {
  const paths = { "/v1/chat/completions": {}, "/v1/responses": {} };
  const { found, program } = await discover({ "GET /openapi.json": json({ paths }) });
  expect(program).toBeUndefined();
  const listing = { "GET /openapi.json": json({ paths }) };
  const named = await discover(listing, { found: { program: "vLLM" } });
  expect(named.program).toBeUndefined();
  expect(found).toMatchObject({ openResponses: "supported", embeddings: "unsupported" });
  expect(found).not.toHaveProperty("storedResponses");
});

test.each([
  ["https://openrouter.ai/api/v1", "cloud"],
  ["https://api.anthropic.com/v1", "cloud"],
  ["https://lab.openai.azure.com/openai/v1", "cloud"],
  ["http://openrouter.ai/api/v1", undefined],
  ["https://openrouter.ai.example/v1", undefined],
  ["https://gpu.example/v1", undefined],
])("%s is recognised as %s by its host", async (baseUrl, expected) => {
  const { program, requested } = await discover({}, { baseUrl });
  expect(program).toBe(expected);
  expect(requested.some((line) => line.startsWith("GET "))).toBe(expected === undefined);
});

test("OpenAI gets no request", async () => {
  const { found, requested } = await discover({}, { baseUrl: "https://api.openai.com/v1" });
  expect(found).toMatchObject({ openResponses: "supported", storedResponses: "supported" });
  expect(requested).toEqual([]);
});

test("an unknown server gets at most nine requests, none of which loads a model, with its headers", async () => {
  const { found, requested, requests } = await discover({
    "POST /v1/responses": refusal,
    "POST /v1/chat/completions": refusal,
  });
  expect(found).toEqual({
    openResponses: "supported",
    chatCompletions: "supported",
    messages: "unsupported",
    responsesCompact: "unsupported",
    responsesInputTokens: "unsupported",
  });
  expect(requested).toEqual([
    "GET /api/version",
    "GET /api/v1/models",
    "GET /props",
    "GET /openapi.json",
    "POST /v1/responses",
    "POST /v1/chat/completions",
    "POST /v1/messages",
    ...besideResponses,
  ]);
  expect(requests.map(({ body }) => body)).toEqual([
    ...["", "", "", ""],
    ...["{}", "{}", "{}", "{}", "{}"],
  ]);
  expect(requests.every(({ headers }) => headers["authorization"] === "Bearer k")).toBe(true);
});

test("a base path other than /v1 is not left", async () => {
  const { requested } = await discover({}, { baseUrl: "https://gpu.example/tenant/v1" });
  expect(requested.slice(0, 1)).toEqual(["GET /tenant/api/version"]);
  expect(requested.every((line) => line.includes(" /tenant/"))).toBe(true);
});

test("what was declared is not looked for; unknown is no declaration", async () => {
  const declared = { openResponses: "supported", chatCompletions: "unknown" };
  const { found, requested } = await discover(
    { "POST /v1/chat/completions": refusal },
    { declared },
  );
  expect(found).toMatchObject({ chatCompletions: "supported" });
  expect(requested.slice(4)).toEqual([
    "POST /v1/chat/completions",
    "POST /v1/messages",
    ...besideResponses,
  ]);
  const without = { openResponses: "unsupported", messages: "unsupported" };
  const { requested: fewer } = await discover({}, { declared: without });
  expect(fewer.slice(4)).toEqual(["POST /v1/chat/completions"]);
});

test("a program that names itself in its models list and does not respond its own path is known as far as all its versions go", async () => {
  const { found, requested } = await discover({}, { found: { program: "vLLM" } });
  expect(found).toMatchObject({ storedResponses: "unsupported", openResponses: "unsupported" });
  expect(requested).toEqual(["GET /openapi.json", "POST /v1/responses", "POST /v1/messages"]);
});

test.each<[string, (requested: SeenRequest) => Reply, number]>([
  ["refuses the key everywhere", () => ({ status: 401, body: "{}" }), 9],
  ["responds with lists", () => ({ status: 500, body: "[1]" }), 9],
  [
    "is away",
    () => ({ failure: { code: "provider_unreachable", message: "refused the connection" } }),
    1,
  ],
  ["responds with more than 1 MiB", () => ({ body: "x".repeat(1024 * 1024 + 1) }), 9],
])("a server that %s leaves everything open", async (_what, reply, requests) => {
  const server = scriptServer(reply);
  const { capabilities } = await discoverCapabilities({
    server: {
      call: server.call,
      baseUrl: "http://127.0.0.1:5000/v1",
      headers: () => ({}),
      world: systemWorld,
    },
    found: {},
    declared: {},
  });
  expect(capabilities).toEqual({});
  expect(server.lines()).toHaveLength(requests);
});

test("a server that leaves one request pending for 3 s gets no other", async () => {
  const world = new SimulatedWorld();
  const server = scriptServer(() => ({ hangs: "before-head" }));
  const discovering = discoverCapabilities({
    server: { call: server.call, baseUrl: "http://127.0.0.1:5000/v1", headers: () => ({}), world },
    found: {},
    declared: {},
  });
  await world.advance(3_000);
  expect((await discovering).capabilities).toEqual({});
  expect(server.lines()).toEqual(["GET /api/version"]);
  await world.advance(1);
  expect(server.open).toBe(0);
});
