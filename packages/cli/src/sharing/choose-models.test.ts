import { expect, test } from "vitest";
import type { Interactivity } from "../terminal/interactivity.ts";
import { chooseModels } from "./choose-models.ts";
import { findServers, type RequestedModels } from "./find-servers.ts";
import { answersOf, makeWorld, passing } from "../test-context.fixture.ts";

const silent: Interactivity = { canAsk: false, isQuiet: false };
const interactivity: Interactivity = { canAsk: true, isQuiet: false };

/** A machine on which the given ports list the given models; a number is a status instead of a list. */
function machine(servers: Record<number, string[] | number>, some: string[] = []) {
  const questions: string[] = [];
  const world = makeWorld({
    fetch: async (url) => {
      const models = servers[Number(new URL(url).port)];
      if (models === undefined) throw new TypeError("fetch failed");
      if (typeof models === "number") {
        return Response.json({ error: { message: "no" } }, { status: models });
      }
      return Response.json({ object: "list", data: models.map((id) => ({ id })) });
    },
    prompts: answersOf(questions, { some }),
  });
  const choose = async (given: Partial<RequestedModels> = {}, how = silent) => {
    const requested = { endpoint: undefined, models: [], isAll: false, headers: {}, ...given };
    const found = await findServers(world.context, requested, how);
    return chooseModels(world.context, requested, found, how);
  };
  return { world, questions, choose };
}

const two = { 11434: ["llama3:latest", "nomic-embed-text"], 1234: ["qwen3"] };

test("nothing named means the first server with a model, and no embedding model if possible", async () => {
  const { choose } = machine({ 11434: [], 1234: ["nomic-embed-text", "qwen3"] });
  expect(await choose()).toEqual([
    {
      ...{ endpoint: "http://127.0.0.1:1234", model: "qwen3", serverName: "LM Studio" },
      traits: { isModelListed: true },
    },
  ]);
});

test("all models are those of every server, without the embedding ones", async () => {
  const { choose } = machine(two);
  expect((await choose({ isAll: true })).map(({ model }) => model)).toEqual([
    "llama3:latest",
    "qwen3",
  ]);
});

test("a terminal prompts for models, with the first one preselected", async () => {
  const { choose, questions } = machine(two, ["qwen3"]);
  expect((await choose({}, interactivity)).map(({ model }) => model)).toEqual(["qwen3"]);
  expect(questions).toEqual(["Select models to share | [llama3:latest] | qwen3"]);
});

test("a single model is no question", async () => {
  const { choose, questions } = machine({ 8000: ["only"] });
  expect(await choose({}, interactivity)).toMatchObject([{ model: "only" }]);
  expect(questions).toEqual([]);
});

test("named models are looked for on every server, with or without :latest", async () => {
  const { choose } = machine(two);
  expect(await choose({ models: ["qwen3", "llama3"] })).toMatchObject([
    { endpoint: "http://127.0.0.1:1234", model: "qwen3" },
    { endpoint: "http://127.0.0.1:11434", model: "llama3" },
  ]);
});

test.each([
  ["qwen2", "did you mean --model qwen3?"],
  ["llama3:8b", "did you mean --model llama3:latest?"],
  [
    "mistral",
    "choose one of: llama3:latest (Ollama), nomic-embed-text (Ollama), qwen3 (LM Studio)",
  ],
])("%s, which no server has, is an error with the hint: %s", async (model, hint) => {
  const { choose } = machine(two);
  await expect(choose({ models: [model] })).rejects.toMatchObject({
    message: `No model server on this machine has ${model}`,
    hint,
  });
});

test("the size that was left out is proposed", async () => {
  const { choose } = machine({ 11434: ["llama3.2:3b"] });
  await expect(choose({ models: ["llama3.2"] })).rejects.toMatchObject({
    hint: "did you mean --model llama3.2:3b?",
  });
});

test("a machine without a model server is refused with where it was looked for", async () => {
  const { choose } = machine({});
  const message =
    "No model server found on this machine (checked Ollama :11434, LM Studio :1234, llama.cpp :8080, llama.cpp :9931, vLLM :8000)";
  await expect(choose()).rejects.toMatchObject({ message });
  await expect(choose({ models: ["x"] })).rejects.toMatchObject({ message });
});

test.each([
  [{ 11434: [] }, "Ollama at http://127.0.0.1:11434 has no models", "ollama pull"],
  [{ 8000: [] }, "vLLM at http://127.0.0.1:8000 has no models", "load a model first"],
])(
  "a server without any model is named with what gives it one: %j",
  async (servers, message, hint) => {
    const { choose } = machine(servers);
    await expect(choose()).rejects.toMatchObject({ message, hint: expect.stringContaining(hint) });
  },
);

test("an endpoint and a model together need no running server", async () => {
  const { choose, world } = machine({});
  expect(await choose({ endpoint: "http://gpu:8000", models: ["m"] })).toEqual([
    { endpoint: "http://gpu:8000", model: "m", serverName: undefined, traits: {} },
  ]);
  expect(world.stderr.text).toBe("");
});

test("an endpoint that does not list the model is used with a warning", async () => {
  const { choose, world } = machine({ 9000: ["big-10"] });
  const endpoint = "http://127.0.0.1:9000";
  expect(await choose({ endpoint, models: ["big-1"] })).toMatchObject([{ model: "big-1" }]);
  expect(world.stderr.text).toBe(`! ${endpoint} does not list big-1; did you mean big-10?\n`);
});

test.each([
  ["http://gpu:8000", "No response from the model server at http://gpu:8000"],
  ["http://127.0.0.1:9000", "has no model"],
  ["ftp://gpu", "must begin with http"],
])("the endpoint %s without a model is refused: %s", async (endpoint, message) => {
  const { choose } = machine({ 9000: [] });
  await expect(choose({ endpoint })).rejects.toThrow(message);
});

/** A machine whose server at the port lists its models after some queries. */
function loadingMachine(port: number, models: string[], queries: number, others = {}) {
  const servers: Record<number, string[] | number> = { [port]: 503, ...others };
  const made = machine(servers);
  const { fetch } = made.world.context;
  let left = queries;
  made.world.context.fetch = (url, init) => {
    if (Number(new URL(url).port) === port && left-- === 0) servers[port] = models;
    return fetch(url, init);
  };
  return made;
}

test("choosing waits for a server that is loading its model, and prints a line", async () => {
  const { choose, world } = loadingMachine(8080, ["tiny"], 3);
  expect(await choose()).toMatchObject([{ model: "tiny", serverName: "llama.cpp" }]);
  expect(world.stderr.text).toBe("llama.cpp at http://127.0.0.1:8080 is loading its model …\n");
});

test("a named endpoint that loads its model is waited for", async () => {
  const { choose, world } = loadingMachine(9000, ["tiny"], 2);
  expect(await choose({ endpoint: "http://127.0.0.1:9000" })).toMatchObject([{ model: "tiny" }]);
  expect(world.stderr.text).toContain("is loading its model");
});

test("a model named together with its endpoint needs no waiting while the server loads", async () => {
  const { choose } = machine({ 9000: 503 });
  const requested = { endpoint: "http://127.0.0.1:9000", models: ["tiny"] };
  expect(await choose(requested)).toMatchObject([{ model: "tiny" }]);
});

test("a server that loads is not waited for while another one has what is wished for", async () => {
  const { choose, world } = machine({ 8080: 503, 11434: ["llama3"] });
  expect(await choose()).toMatchObject([{ model: "llama3" }]);
  expect(await choose({ models: ["llama3:latest"] })).toHaveLength(1);
  expect(world.stderr.text).toBe("");
});

test("a server that never finishes loading is given up after 15 minutes", async () => {
  const { choose, world } = machine({ 8080: 503 });
  let nowMs = 0;
  world.context.world = passing({ nowMs: () => (nowMs += 60_000) });
  await expect(choose()).rejects.toMatchObject({
    message: "llama.cpp at http://127.0.0.1:8080 has been loading its model for over 15 min 00 s",
  });
});

test("a server that requires credentials is named with what gives it some", async () => {
  const { choose } = machine({ 8080: 401 });
  await expect(choose()).rejects.toMatchObject({
    message: "llama.cpp at http://127.0.0.1:8080 requires credentials (401)",
    hint: 'pass them from a variable: --endpoint http://127.0.0.1:8080 --header-env "Authorization=VARIABLE"',
    exitCode: 4,
  });
});

test("a model named together with an endpoint that requires credentials joins with a warning", async () => {
  const { choose, world } = machine({ 9000: 401 });
  const requested = { endpoint: "http://127.0.0.1:9000", models: ["tiny"] };
  expect(await choose(requested)).toMatchObject([{ model: "tiny" }]);
  expect(world.stderr.text).toContain(
    "! the model server at http://127.0.0.1:9000 requires credentials",
  );
});

test("an endpoint without a models list is refused unless the model is named", async () => {
  const { choose } = machine({ 9000: 404 });
  const endpoint = "http://127.0.0.1:9000";
  await expect(choose({ endpoint })).rejects.toThrow("does not list its models (404)");
  expect(await choose({ endpoint, models: ["m"] })).toMatchObject([{ model: "m" }]);
});
