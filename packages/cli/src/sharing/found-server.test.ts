import { expect, test, vi } from "vitest";
import {
  credentialsProblem,
  findModelServers,
  offerableModels,
  queryModelServer,
} from "./found-server.ts";
import { makeWorld } from "../test-context.fixture.ts";

/** A machine on which the given ports list models, show a page, or respond with anything else. */
function machine(
  servers: Record<number, string[] | string | ((headers: Headers) => Response)>,
  env: Record<string, string> = {},
) {
  const asked: { url: string; headers: Headers }[] = [];
  const { context } = makeWorld({
    env,
    fetch: async (url, init) => {
      asked.push({ url, headers: new Headers(init.headers) });
      const models = servers[Number(new URL(url).port)];
      if (models === undefined) throw new TypeError("fetch failed");
      if (typeof models === "function") return models(new Headers(init.headers));
      if (typeof models === "string") return new Response(models);
      return Response.json({ object: "list", data: models.map((id) => ({ id })) });
    },
  });
  return { context, asked };
}

test("all default servers are queried concurrently and listed in order of preference", async () => {
  const { context, asked } = machine({ 8000: ["v"], 11434: ["o"], 8080: "<html>some site</html>" });
  const found = await findModelServers(context);
  expect(found.map(({ name }) => name)).toEqual(["Ollama", "vLLM"]);
  expect(asked).toHaveLength(5);
});

test("a server that takes 2 s, as one whose model runs on all cores of the machine, is found", async () => {
  const timeout = vi.spyOn(AbortSignal, "timeout");
  timeout.mockImplementation((ms) =>
    ms < 2_000 ? AbortSignal.abort() : new AbortController().signal,
  );
  const { context } = makeWorld({
    fetch: async (_url, { signal }) => {
      signal?.throwIfAborted();
      return Response.json({ object: "list", data: [{ id: "llama3" }] });
    },
  });
  expect(await findModelServers(context)).not.toEqual([]);
  timeout.mockRestore();
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
])("OLLAMA_HOST=%s is queried at %s", async (OLLAMA_HOST, endpoint) => {
  const { context, asked } = machine({}, { OLLAMA_HOST });
  await findModelServers(context);
  expect(asked[0]!.url).toBe(`${endpoint}/v1/models`);
});

test("an endpoint is queried with its headers", async () => {
  const { context, asked } = machine({ 9000: ["big-1"] });
  const headers = { authorization: "Bearer k" };
  const server = await queryModelServer(context, "http://127.0.0.1:9000/", headers);
  expect(server).toEqual({
    endpoint: "http://127.0.0.1:9000/",
    name: undefined,
    readiness: "ready",
    status: 200,
    models: ["big-1"],
    isBareList: true,
  });
  expect(asked[0]!.url).toBe("http://127.0.0.1:9000/v1/models");
  expect(asked[0]!.headers.get("authorization")).toBe("Bearer k");
});

test("embedding models are offered only when there is nothing else", () => {
  expect(offerableModels(["nomic-embed-text", "qwen3"])).toEqual(["qwen3"]);
  expect(offerableModels(["nomic-embed-text"])).toEqual(["nomic-embed-text"]);
});

/** As a real llama-server responds while it loads, and without its key. */
const refusal = (code: number) => () =>
  Response.json({ error: { message: "no", code } }, { status: code });

test("a usual server that loads its model or requires credentials is found as such", async () => {
  const { context } = machine({ 8080: refusal(503), 9931: refusal(401), 8000: ["v"] });
  expect(await findModelServers(context)).toMatchObject([
    { endpoint: "http://127.0.0.1:8080", readiness: "loading", models: undefined },
    { endpoint: "http://127.0.0.1:9931", readiness: "needs-credentials", status: 401 },
    { endpoint: "http://127.0.0.1:8000", readiness: "ready", models: ["v"] },
  ]);
});

test.each([401, 403, 503])(
  "a page with status %d on a usual port is no model server",
  async (status) => {
    const { context } = machine({ 8080: () => new Response("<html>Sign in", { status }) });
    expect(await findModelServers(context)).toEqual([]);
  },
);

test("credentials reach a usual server only after it refused a request without them", async () => {
  const withKey = (headers: Headers) =>
    headers.has("authorization") ? Response.json({ data: [{ id: "m" }] }) : refusal(401)();
  const { context, asked } = machine({ 8080: withKey, 11434: ["o"] });
  const found = await findModelServers(context, { authorization: "Bearer k" });
  expect(found).toMatchObject([{ models: ["o"] }, { readiness: "ready", models: ["m"] }]);
  const sent = asked.filter(({ headers }) => headers.has("authorization"));
  expect(sent.map(({ url }) => url)).toEqual(["http://127.0.0.1:8080/v1/models"]);
});

test.each([
  [401, "needs-credentials"],
  [403, "needs-credentials"],
  [503, "loading"],
  [502, "down"],
  [404, "ready"],
])("a named endpoint that responds with %d is %s", async (status, readiness) => {
  const { context } = machine({ 9000: () => new Response("nothing to read", { status }) });
  const server = await queryModelServer(context, "http://127.0.0.1:9000", {});
  expect(server).toMatchObject({ readiness, status, models: undefined });
});

test("a named endpoint without a response is down", async () => {
  const { context } = machine({});
  const server = await queryModelServer(context, "http://127.0.0.1:9000", {});
  expect(server).toMatchObject({ readiness: "down", status: undefined });
});

test("missing and wrong credentials are different problems, and no value is shown", async () => {
  const { context } = machine({ 9000: refusal(401) });
  const server = await queryModelServer(context, "http://127.0.0.1:9000", {});
  expect(credentialsProblem(server, {})).toEqual({
    problem: "the model server at http://127.0.0.1:9000 requires credentials (401)",
    fix: 'pass them from a variable: --endpoint http://127.0.0.1:9000 --header-env "Authorization=VARIABLE"',
  });
  const wrong = credentialsProblem(server, { Authorization: "Bearer sesame" });
  expect(wrong.problem).toBe(
    "the model server at http://127.0.0.1:9000 rejected the credentials (401; headers: Authorization)",
  );
});
