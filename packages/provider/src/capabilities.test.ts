import { afterEach, expect, test, vi } from "vitest";
import { discoverCapabilities } from "./capabilities.ts";
import { type Asked, type Reply, scriptServer } from "./scripted-server.fixture.ts";

afterEach(() => void vi.useRealTimers());

type Script = Record<string, Reply>;

const json = (value: unknown): Reply => ({ body: JSON.stringify(value) });
const refusal: Reply = { status: 400, body: '{"error":{"message":"model is required"}}' };

async function discover(
  script: Script,
  over: Partial<Omit<Parameters<typeof discoverCapabilities>[0], "call">> = {},
) {
  const server = scriptServer(({ line }) => script[line]);
  const found = await discoverCapabilities({
    call: server.call,
    baseUrl: "http://127.0.0.1:5000/v1",
    headers: { authorization: "Bearer k" },
    found: {},
    declared: {},
    ...over,
  });
  return { found, asked: server.lines(), requests: server.asked };
}

test.each([
  ["0.13.2", "unsupported", "unsupported"],
  ["0.13.3", "supported", "unsupported"],
  ["0.14.0-rc1", "supported", "supported"],
  ["1.0.0", "supported", "supported"],
])("Ollama %s: responses %s, messages %s, after one request", async (version, own, messages) => {
  const { found, asked } = await discover(
    { "GET /api/version": json({ version }) },
    { baseUrl: "http://127.0.0.1:11434/v1" },
  );
  expect(found).toMatchObject({ openResponses: own, messages, chatCompletions: "supported" });
  expect(found).toMatchObject({ storedResponses: "unsupported", streamUsage: "supported" });
  expect(asked).toEqual(["GET /api/version"]);
});

test("a home-made Ollama does not tell its version, so its responses are asked for, empty", async () => {
  const { found, asked } = await discover(
    { "GET /api/version": json({ version: "0.0.0" }), "POST /v1/responses": refusal },
    { found: { ownedBy: "library" } },
  );
  expect(found).toMatchObject({ openResponses: "supported", chatCompletions: "supported" });
  expect(asked).toEqual(["GET /api/version", "POST /v1/responses"]);
});

test("a version among other things is not Ollama's", async () => {
  const { found } = await discover({ "GET /api/version": json({ version: "1.0.0", id: "x" }) });
  expect(found).toEqual({ openResponses: "unsupported", chatCompletions: "unsupported" });
});

test("LM Studio is known by its list of instances; an older one by how it says that there is none", async () => {
  const port = { baseUrl: "http://127.0.0.1:1234/v1" };
  const models = json({ models: [{ key: "qwen", loaded_instances: [] }] });
  const now = await discover({ "GET /api/v1/models": models }, port);
  expect(now.found).toMatchObject({ openResponses: "supported", storedResponses: "supported" });
  expect(now.asked).toEqual(["GET /api/v1/models"]);
  const no = json({ error: "Unexpected endpoint or method. (POST /v1/responses)" });
  const older = await discover({ "GET /api/v1/models": no, "POST /v1/responses": no }, port);
  expect(older.found).toMatchObject({ openResponses: "unsupported", chatCompletions: "supported" });
  expect(older.asked).toEqual(["GET /api/v1/models", "POST /v1/responses"]);
});

test("llama.cpp keeps no responses; whether it has any depends on the build, so that is asked", async () => {
  const { found, asked } = await discover(
    {
      "GET /props": json({ default_generation_settings: {}, total_slots: 1 }),
      "POST /v1/responses": refusal,
    },
    { found: { server: "llama.cpp" } },
  );
  expect(found).toMatchObject({ openResponses: "supported", storedResponses: "unsupported" });
  expect(found).not.toHaveProperty("embeddings");
  expect(asked).toEqual(["GET /props", "POST /v1/responses"]);
});

test("llama.cpp reports the usage of streams by itself, in builds that have a number", async () => {
  const props = { default_generation_settings: {}, build_info: "b1-de3ff81" };
  const { found } = await discover(
    { "GET /props": json(props) },
    { found: { server: "llama.cpp" } },
  );
  expect(found).toMatchObject({ implicitUsage: "supported", streamUsage: "supported" });
  const { found: older } = await discover(
    { "GET /props": json({ default_generation_settings: {} }) },
    { found: { server: "llama.cpp" } },
  );
  expect(older).not.toHaveProperty("implicitUsage");
});

test("what vLLM lists it has, and nothing else", async () => {
  const paths = {
    "/v1/chat/completions": {},
    "/v1/embeddings": {},
    "/tokenize": {},
    "/version": {},
  };
  const { found, asked } = await discover(
    { "GET /openapi.json": json({ paths }) },
    { baseUrl: "http://127.0.0.1:8000/v1" },
  );
  expect(found).toEqual({
    chatCompletions: "supported",
    embeddings: "supported",
    openResponses: "unsupported",
    completions: "unsupported",
    messages: "unsupported",
    streamUsage: "supported",
    storedResponses: "unsupported",
  });
  expect(asked).toEqual(["GET /openapi.json"]);
});

test("another server that lists its paths is not taken for vLLM beyond them", async () => {
  const paths = { "/v1/chat/completions": {}, "/v1/responses": {} };
  const { found } = await discover({ "GET /openapi.json": json({ paths }) });
  expect(found).toMatchObject({ openResponses: "supported", embeddings: "unsupported" });
  expect(found).not.toHaveProperty("storedResponses");
});

test("OpenAI is asked nothing", async () => {
  const { found, asked } = await discover({}, { baseUrl: "https://api.openai.com/v1" });
  expect(found).toMatchObject({ openResponses: "supported", storedResponses: "supported" });
  expect(asked).toEqual([]);
});

test("an unknown server is asked six times, for nothing that would load a model, with its headers", async () => {
  const { found, asked, requests } = await discover({ "POST /v1/chat/completions": refusal });
  expect(found).toEqual({ openResponses: "unsupported", chatCompletions: "supported" });
  expect(asked).toEqual([
    "GET /api/version",
    "GET /api/v1/models",
    "GET /props",
    "GET /openapi.json",
    "POST /v1/responses",
    "POST /v1/chat/completions",
  ]);
  expect(requests.map(({ body }) => body)).toEqual(["", "", "", "", "{}", "{}"]);
  expect(requests.every(({ headers }) => headers["authorization"] === "Bearer k")).toBe(true);
});

test("a base path other than /v1 is not left", async () => {
  const { asked } = await discover({}, { baseUrl: "https://gpu.example/tenant/v1" });
  expect(asked.slice(0, 1)).toEqual(["GET /tenant/api/version"]);
  expect(asked.every((line) => line.includes(" /tenant/"))).toBe(true);
});

test("what was declared is not asked for; unknown is no declaration", async () => {
  const declared = { openResponses: "supported", chatCompletions: "unknown" };
  const { found, asked } = await discover({ "POST /v1/chat/completions": refusal }, { declared });
  expect(found).toEqual({ chatCompletions: "supported" });
  expect(asked.slice(4)).toEqual(["POST /v1/chat/completions"]);
});

test("a program that names itself in its models list and does not answer its own path is known as far as all its versions go", async () => {
  const { found, asked } = await discover({}, { found: { ownedBy: "vllm" } });
  expect(found).toMatchObject({ storedResponses: "unsupported", openResponses: "unsupported" });
  expect(asked).toEqual(["GET /openapi.json", "POST /v1/responses"]);
});

test.each<[string, (asked: Asked) => Reply, number]>([
  ["refuses the key everywhere", () => ({ status: 401, body: "{}" }), 6],
  ["answers with lists", () => ({ status: 500, body: "[1]" }), 6],
  [
    "is gone",
    () => ({ failure: { code: "provider_unreachable", message: "refused the connection" } }),
    1,
  ],
  ["answers more than 1 MiB", () => ({ body: "x".repeat(1024 * 1024 + 1) }), 6],
])("a server that %s leaves everything open", async (_what, answer, requests) => {
  const server = scriptServer(answer);
  const found = await discoverCapabilities({
    call: server.call,
    baseUrl: "http://127.0.0.1:5000/v1",
    headers: {},
    found: {},
    declared: {},
  });
  expect(found).toEqual({});
  expect(server.lines()).toHaveLength(requests);
});

test("a server that leaves one question unanswered for 3 s is asked no other", async () => {
  vi.useFakeTimers();
  const server = scriptServer(() => ({ hangs: "before-head" }));
  const discovering = discoverCapabilities({
    call: server.call,
    baseUrl: "http://127.0.0.1:5000/v1",
    headers: {},
    found: {},
    declared: {},
  });
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await discovering).toEqual({});
  expect(server.lines()).toEqual(["GET /api/version"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(server.open).toBe(0);
});
