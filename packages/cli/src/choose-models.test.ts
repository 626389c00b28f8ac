import { expect, test } from "vitest";
import type { Asking } from "./asking.ts";
import { chooseModels, type ModelWish } from "./choose-models.ts";
import { answersOf, makeWorld } from "./test-context.fixture.ts";

const silent: Asking = { canAsk: false, isQuiet: false };
const asking: Asking = { canAsk: true, isQuiet: false };

/** A machine on which the given ports list the given models. */
function machine(servers: Record<number, string[]>, some: string[] = []) {
  const questions: string[] = [];
  const world = makeWorld({
    fetch: async (url) => {
      const models = servers[Number(new URL(url).port)];
      if (models === undefined) throw new TypeError("fetch failed");
      return Response.json({ object: "list", data: models.map((id) => ({ id })) });
    },
    prompts: answersOf(questions, { some }),
  });
  const choose = (wish: Partial<ModelWish> = {}, how = silent) =>
    chooseModels(
      world.context,
      { endpoint: undefined, models: [], isAll: false, headers: {}, ...wish },
      how,
    );
  return { world, questions, choose };
}

const two = { 11434: ["llama3:latest", "nomic-embed-text"], 1234: ["qwen3"] };

test("nothing named means the first server with a model, and no embedding model if possible", async () => {
  const { choose } = machine({ 11434: [], 1234: ["nomic-embed-text", "qwen3"] });
  expect(await choose()).toEqual([
    { endpoint: "http://127.0.0.1:1234", model: "qwen3", serverName: "LM Studio" },
  ]);
});

test("all models are those of every server, without the embedding ones", async () => {
  const { choose } = machine(two);
  expect((await choose({ isAll: true })).map(({ model }) => model)).toEqual([
    "llama3:latest",
    "qwen3",
  ]);
});

test("who can answer is asked, with the first model as the proposal", async () => {
  const { choose, questions } = machine(two, ["qwen3"]);
  expect((await choose({}, asking)).map(({ model }) => model)).toEqual(["qwen3"]);
  expect(questions).toEqual(["Which models do you share? | [llama3:latest] | qwen3"]);
});

test("a single model is no question", async () => {
  const { choose, questions } = machine({ 8000: ["only"] });
  expect(await choose({}, asking)).toMatchObject([{ model: "only" }]);
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
])("%s, which no server has, is answered with: %s", async (model, hint) => {
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

test("no server at all is nothing to throw about", async () => {
  const { choose } = machine({});
  expect(await choose()).toEqual([]);
  expect(await choose({ models: ["x"] })).toEqual([]);
});

test.each([
  [{ 11434: [] }, "Ollama answers at http://127.0.0.1:11434 but has no model", "ollama pull"],
  [{ 8000: [] }, "vLLM answers at http://127.0.0.1:8000 but has no model", "load a model there"],
])(
  "a server without any model is named with what gives it one: %j",
  async (servers, message, hint) => {
    const { choose } = machine(servers);
    await expect(choose()).rejects.toMatchObject({ message, hint: expect.stringContaining(hint) });
  },
);

test("an endpoint and a model together need no answering server", async () => {
  const { choose, world } = machine({});
  expect(await choose({ endpoint: "http://gpu:8000", models: ["m"] })).toEqual([
    { endpoint: "http://gpu:8000", model: "m", serverName: undefined },
  ]);
  expect(world.stderr.text).toBe("");
});

test("an endpoint that does not list the model is believed, and that is said", async () => {
  const { choose, world } = machine({ 9000: ["big-10"] });
  const endpoint = "http://127.0.0.1:9000";
  expect(await choose({ endpoint, models: ["big-1"] })).toMatchObject([{ model: "big-1" }]);
  expect(world.stderr.text).toBe(`! ${endpoint} does not list big-1; did you mean big-10?\n`);
});

test.each([
  ["http://gpu:8000", "does not list its models"],
  ["http://127.0.0.1:9000", "has no model"],
  ["ftp://gpu", "must begin with http"],
])("the endpoint %s without a model is refused: %s", async (endpoint, message) => {
  const { choose } = machine({ 9000: [] });
  await expect(choose({ endpoint })).rejects.toThrow(message);
});
