import { expect, test } from "vitest";
import { chooseProvider, findModelServers } from "./model-server.ts";
import { makeWorld } from "./test-context.fixture.ts";

/** A machine on which the given ports list the given models. */
function machine(servers: Record<number, string[] | string>) {
  const asked: { url: string; headers: Headers }[] = [];
  const { context } = makeWorld({
    fetch: async (url, init) => {
      asked.push({ url, headers: new Headers(init.headers) });
      const models = servers[Number(new URL(url).port)];
      if (models === undefined) throw new TypeError("fetch failed");
      if (typeof models === "string") return new Response(models);
      return Response.json({ object: "list", data: models.map((id) => ({ id })) });
    },
  });
  return { context, asked };
}

test("all usual servers are asked at once and come back in order of preference", async () => {
  const { context, asked } = machine({ 8000: ["v"], 11434: ["o"], 8080: "<html>some site</html>" });
  const found = await findModelServers(context);
  expect(found.map(({ name }) => name)).toEqual(["Ollama", "vLLM"]);
  expect(asked).toHaveLength(4);
});

test("nothing named means the first server with a model, and no embedding model if possible", async () => {
  const { context } = machine({ 11434: [], 1234: ["nomic-embed-text", "qwen3"] });
  expect(await chooseProvider(context, { headers: {} })).toEqual({
    endpoint: "http://127.0.0.1:1234",
    model: "qwen3",
    name: "LM Studio",
  });
});

test("a named model is looked for on every server, with or without :latest", async () => {
  const { context } = machine({ 11434: ["a"], 8000: ["llama3:latest"] });
  expect(await chooseProvider(context, { model: "llama3", headers: {} })).toMatchObject({
    endpoint: "http://127.0.0.1:8000",
    model: "llama3",
  });
});

test("a named model that no server has is answered with those there are", async () => {
  const { context } = machine({ 11434: ["a"], 8000: ["b"] });
  await expect(chooseProvider(context, { model: "c", headers: {} })).rejects.toMatchObject({
    hint: "choose one of: a (Ollama), b (vLLM)",
  });
});

test("no server at all is nothing to throw about", async () => {
  const { context } = machine({});
  expect(await chooseProvider(context, { headers: {} })).toBeUndefined();
  expect(await chooseProvider(context, { model: "x", headers: {} })).toBeUndefined();
});

test("a server without any model is named with the command that gives it one", async () => {
  const { context } = machine({ 11434: [] });
  await expect(chooseProvider(context, { headers: {} })).rejects.toMatchObject({
    message: "Ollama answers at http://127.0.0.1:11434 but has no model",
    hint: "ollama pull llama3.2",
  });
});

test("a named endpoint is asked for its first model, with the headers given for it", async () => {
  const { context, asked } = machine({ 9000: ["big-1"] });
  const headers = { authorization: "Bearer k" };
  const wish = { endpoint: "http://127.0.0.1:9000/", headers };
  expect(await chooseProvider(context, wish)).toMatchObject({ model: "big-1" });
  expect(asked[0]!.url).toBe("http://127.0.0.1:9000/v1/models");
  expect(asked[0]!.headers.get("authorization")).toBe("Bearer k");
});

test("an endpoint and a model together need no answering server", async () => {
  const { context, asked } = machine({});
  const wish = { endpoint: "http://gpu:8000", model: "m", headers: {} };
  expect(await chooseProvider(context, wish)).toEqual({ endpoint: "http://gpu:8000", model: "m" });
  expect(asked).toEqual([]);
});

test.each([
  ["http://gpu:8000", "does not list its models"],
  ["ftp://gpu", "must begin with http"],
])("the endpoint %s without a model is refused: %s", async (endpoint, message) => {
  const { context } = machine({});
  await expect(chooseProvider(context, { endpoint, headers: {} })).rejects.toThrow(message);
});
