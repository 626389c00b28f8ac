import { InferenceProtocol } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { makeWorld } from "../test-context.fixture.ts";
import { chooseModels } from "./choose-models.ts";
import { findServers } from "./find-servers.ts";

const silent = { canAsk: false, isQuiet: false };
const missing = (message: string) => ({
  error: { code: 400, message, type: "invalid_request_error" },
});
const off = (what: string, option: string) => ({
  error: {
    ...{ code: 501, type: "not_supported_error" },
    message: `This server does not support ${what}. Start it with \`${option}\``,
  },
});
const withoutRerank = off("reranking", "--reranking");
const withoutInput = missing('"input" or "content" must be provided');

/** What llama-servers respond to `{}`, by how they were started. */
const llamaServers = {
  plain: { "/rerank": withoutRerank, "/embeddings": off("embeddings", "--embeddings") },
  "--reranking": { "/rerank": missing('"query" must be provided'), "/embeddings": withoutInput },
  "--embeddings": { "/rerank": withoutRerank, "/embeddings": withoutInput },
  "--embeddings, of a decoder without pooling": {
    "/rerank": withoutRerank,
    "/embeddings": missing(
      "Pooling type 'none' is not OAI compatible. Please use a different pooling type",
    ),
  },
  "as a router": {
    "/rerank": missing("model name is missing from the request"),
    "/embeddings": missing("model name is missing from the request"),
  },
} as const;

type Responses = Readonly<Record<string, object>>;

/** A machine whose model servers, by port, are llama-servers or list their paths. */
function machine(servers: Record<number, Responses>) {
  const sent: string[] = [];
  const world = makeWorld({
    fetch: async (url, init) => {
      const { port, pathname } = new URL(url);
      const responses = servers[Number(port)];
      if (responses === undefined) throw new TypeError("fetch failed");
      sent.push(
        `${init?.method ?? "GET"} :${port}${pathname} ${typeof init?.body === "string" ? init.body : ""}`.trim(),
      );
      if (pathname === "/v1/models" && "whisper" in responses) {
        return new Response("File Not Found (/v1/models)", {
          status: 404,
          headers: { server: "whisper.cpp" },
        });
      }
      if (pathname === "/v1/models" && "/models" in responses) {
        return Response.json(responses["/models"]);
      }
      if (pathname === "/v1/models") {
        const isLlama = "/rerank" in responses;
        return Response.json({
          data: [{ id: `m${port}`, owned_by: isLlama ? "llamacpp" : "infinity" }],
        });
      }
      const body = responses[pathname.replace(/^\/v1/, "")];
      return Response.json(body ?? { detail: "Not Found" }, {
        status: body === undefined ? 404 : 400,
      });
    },
  });
  const choose = async (given: { endpoint?: string; models?: string[] } = {}) => {
    const requested = { endpoint: undefined, models: [], isAll: false, headers: {}, ...given };
    const found = await findServers(world.context, requested, silent);
    return chooseModels(world.context, requested, found, silent);
  };
  return { world, choose, sent };
}

const nothing = Object.fromEntries(
  InferenceProtocol.options.map((protocol) => [protocol, "unsupported"]),
);
const embeddingsAlone = { ...nothing, embeddings: "supported" };
const rerankAlone = { ...nothing, rerank: "supported" };

test.each<[keyof typeof llamaServers, object | undefined]>([
  ["plain", undefined],
  ["--embeddings", embeddingsAlone],
  ["--reranking", rerankAlone],
  ["--embeddings, of a decoder without pooling", undefined],
  ["as a router", undefined],
])("a model of a llama-server started %s is shared for %j", async (how, capabilities) => {
  const { choose, sent } = machine({ 8080: llamaServers[how] });
  const [choice] = await choose();
  expect(choice).toMatchObject({ model: "m8080" });
  expect(choice?.traits.capabilities).toEqual(capabilities);
  // Nothing is generated: the bodies are empty.
  expect(sent).toEqual([
    "GET :8080/v1/models",
    "GET :8080/props",
    "POST :8080/v1/rerank {}",
    "POST :8080/v1/embeddings {}",
  ]);
});

test("a llama-server that sleeps is not woken", async () => {
  const asleep = { ...llamaServers["--embeddings"], "/props": { is_sleeping: true } };
  const { choose, sent } = machine({ 8080: asleep });
  expect((await choose())[0]?.traits.capabilities).toBeUndefined();
  expect(sent).toEqual(["GET :8080/v1/models", "GET :8080/props"]);
});

test("a model that was named is shared for all that its server does", async () => {
  const { choose, sent } = machine({ 8080: llamaServers["--embeddings"] });
  const [choice] = await choose({ models: ["m8080"] });
  expect(choice?.traits).toEqual({ isModelListed: true });
  expect(sent).toEqual(["GET :8080/v1/models"]);
});

test.each<[string, object, object | undefined]>([
  ["chat", { "/v1/chat/completions": {}, "/v1/embeddings": {}, "/rerank": {} }, undefined],
  ["embeddings", { "/v1/embeddings": {} }, embeddingsAlone],
  ["reranking", { "/v1/rerank": {} }, rerankAlone],
  ["speech", { "/v1/audio/speech": {} }, { ...nothing, audioSpeech: "supported" }],
])(
  "a server that lists paths for %s is shared for what they are",
  async (_what, paths, expected) => {
    const { choose } = machine({ 8000: { "/openapi.json": { paths } } });
    const [choice] = await choose();
    expect(choice?.traits.capabilities).toEqual(expected);
  },
);

const transcribes: Record<string, string> = { ...nothing, audioTranscriptions: "supported" };
const speaks = { ...nothing, audioSpeech: "supported" };

test("models of speaches are shared for their tasks, named or not", async () => {
  const list = {
    data: [
      { id: "whisper-small", owned_by: "Systran", task: "automatic-speech-recognition" },
      { id: "kokoro", owned_by: "hexgrad", task: "text-to-speech" },
    ],
  };
  const { choose, sent } = machine({ 8000: { "/models": list } });
  const [first] = await choose();
  expect(first).toMatchObject({ model: "whisper-small", serverName: "speaches" });
  const hears = { ...transcribes, audioTranslations: "supported" };
  expect(first?.traits.capabilities).toEqual(hears);
  const [named] = await choose({ models: ["kokoro"] });
  expect(named?.traits.capabilities).toEqual(speaks);
  expect(new Set(sent)).toEqual(new Set(["GET :8000/v1/models"]));
});

test("models of LocalAI are shared for what its own list says, those for text first", async () => {
  const { choose, world } = machine({
    8080: {
      "/models": { data: ["whisper-1", "tts-1", "qwen"].map((id) => ({ id, object: "model" })) },
      "/models/capabilities": {
        data: [
          { id: "whisper-1", capabilities: ["transcript"] },
          { id: "tts-1", capabilities: ["tts"] },
          { id: "qwen", capabilities: ["chat", "completion"] },
        ],
      },
    },
  });
  const requested = { endpoint: undefined, models: [], isAll: true, headers: {} };
  const found = await findServers(world.context, requested, silent);
  const choices = await chooseModels(world.context, requested, found, silent);
  expect(choices.map(({ model, traits }) => [model, traits.capabilities])).toEqual([
    ["qwen", undefined],
    ["whisper-1", transcribes],
    ["tts-1", speaks],
  ]);
  expect(choices[0]?.serverName).toBe("LocalAI");
  expect(await choose()).toMatchObject([{ model: "qwen" }]);
});

test("whisper.cpp needs a name for its model, and is shared for transcription", async () => {
  const { choose } = machine({ 8080: { whisper: {} } });
  await expect(choose()).rejects.toMatchObject({
    message: "whisper.cpp at http://127.0.0.1:8080 transcribes, and does not list its model",
    hint: "give the model a name: --endpoint http://127.0.0.1:8080 --model whisper",
  });
  const endpoint = "http://127.0.0.1:8080";
  const [choice] = await choose({ endpoint, models: ["whisper"] });
  // Whether it translates is found out later.
  const { audioTranslations: _, ...capabilities } = transcribes;
  expect(choice).toEqual({
    ...{ endpoint, model: "whisper", serverName: undefined },
    traits: { capabilities },
  });
});

test("a name that no server lists is whisper.cpp's where there is no other server", async () => {
  const alone = machine({ 8080: { whisper: {} } });
  const [choice] = await alone.choose({ models: ["whisper"] });
  expect(choice).toMatchObject({ endpoint: "http://127.0.0.1:8080", serverName: "whisper.cpp" });
  const beside = machine({ 8080: { whisper: {} }, 9931: llamaServers.plain });
  await expect(beside.choose({ models: ["whisper"] })).rejects.toMatchObject({
    message: "No model server on this machine has whisper",
    hint: "choose one of: m9931 (llama.cpp); for whisper.cpp at http://127.0.0.1:8080, add --endpoint http://127.0.0.1:8080",
  });
});
