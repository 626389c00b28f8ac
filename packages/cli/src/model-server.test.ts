import { expect, test } from "vitest";
import { askModelServer, findModelServers, isSameModel, offerableModels } from "./model-server.ts";
import { makeWorld } from "./test-context.fixture.ts";

/** A machine on which the given ports list the given models. */
function machine(servers: Record<number, string[] | string>, env: Record<string, string> = {}) {
  const asked: { url: string; headers: Headers }[] = [];
  const { context } = makeWorld({
    env,
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

test.each([
  ["127.0.0.1:9999", "http://127.0.0.1:9999"],
  ["0.0.0.0", "http://127.0.0.1:11434"],
  [":9999", "http://127.0.0.1:9999"],
  ["gpu.local", "http://gpu.local:11434"],
  ["http://gpu.local:80/", "http://gpu.local"],
  ["https://gpu.local", "https://gpu.local"],
  ["not a host", "http://127.0.0.1:11434"],
  ["", "http://127.0.0.1:11434"],
])("OLLAMA_HOST=%s is asked at %s", async (OLLAMA_HOST, endpoint) => {
  const { context, asked } = machine({}, { OLLAMA_HOST });
  await findModelServers(context);
  expect(asked[0]!.url).toBe(`${endpoint}/v1/models`);
});

test("an endpoint is asked with the headers given for it", async () => {
  const { context, asked } = machine({ 9000: ["big-1"] });
  const headers = { authorization: "Bearer k" };
  const server = await askModelServer(context, "http://127.0.0.1:9000/", headers);
  expect(server).toEqual({
    endpoint: "http://127.0.0.1:9000/",
    name: undefined,
    models: ["big-1"],
  });
  expect(asked[0]!.url).toBe("http://127.0.0.1:9000/v1/models");
  expect(asked[0]!.headers.get("authorization")).toBe("Bearer k");
});

test("a model is the same with and without :latest", () => {
  expect(isSameModel("llama3", "llama3:latest")).toBe(true);
  expect(isSameModel("llama3:latest", "llama3")).toBe(true);
  expect(isSameModel("llama3", "llama3:8b")).toBe(false);
});

test("embedding models are offered only when there is nothing else", () => {
  expect(offerableModels(["nomic-embed-text", "qwen3"])).toEqual(["qwen3"]);
  expect(offerableModels(["nomic-embed-text"])).toEqual(["nomic-embed-text"]);
});
