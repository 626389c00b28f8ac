import { SimulatedWorld } from "../../../protocol/src/simulated-world.fixture.ts";
import { describe, expect, test } from "vitest";
import { ModelServer } from "../model-server.ts";
import { listen, type Reply, scriptServer } from "../scripted-server.fixture.ts";
import { settle } from "../settle.fixture.ts";

const json = (value: unknown): Reply => ({ body: JSON.stringify(value) });
const list = (ownedBy: string, ...more: object[]): Reply =>
  json({ data: [{ id: "llama3.2", owned_by: ownedBy }, ...more] });

/** A server whose replies are set by their request line, and what is reported of its loaded models. */
function start(script: Record<string, Reply | undefined>, model = "llama3.2") {
  const time = new SimulatedWorld();
  const reported: (readonly string[] | undefined)[] = [];
  const listener = { is: true };
  const replies: Record<string, Reply | undefined> = {
    "POST /v1/chat/completions": json({ choices: [] }),
    ...script,
  };
  const provider = scriptServer(({ line, body }) =>
    body === "{}" ? { status: 400, body: "{}" } : replies[line],
  );
  const server = new ModelServer({
    call: provider.call,
    baseUrl: "http://127.0.0.1:8080/v1",
    headers: () => ({ authorization: "Bearer k" }),
    declared: () => ({}),
    onCapabilities: () => {},
    onLoaded: (models) => reported.push(models),
    hasListener: () => listener.is,
    model: () => model,
    world: time,
  });
  return { replies, time, provider, server, reported, listener };
}

type World = ReturnType<typeof start>;

async function probe({ server }: World): Promise<void> {
  await server.probe(1_000);
  await settle();
}

async function pass(world: World, ms: number): Promise<void> {
  await world.time.advance(ms);
  await settle();
}

async function use(world: World): Promise<void> {
  const body = [Buffer.from('{"model":"m"}')];
  await listen(world.server, { path: "/chat/completions", body }).closed;
  await pass(world, 0);
}

const count = ({ provider }: World, line: string) =>
  provider.lines().filter((one) => one === line).length;

const running = (...names: string[]) =>
  json({
    models: names.map((name) => ({ name, model: name, expires_at: "2026-01-01T00:00:00Z" })),
  });
const ollama = (...names: string[]) => ({
  "GET /v1/models": list("library"),
  "GET /api/version": json({ version: "0.14.0" }),
  "GET /api/ps": running(...names),
});

describe("the loaded models of Ollama", () => {
  test("are read with the first look, the participant's first and under its own name", async () => {
    const world = start(ollama("qwen3:8b", "llama3.2:latest", "gemma3:latest"));
    expect(world.server.loadedModels).toBeUndefined();
    await probe(world);
    expect(world.server.loadedModels).toEqual(["llama3.2", "gemma3:latest", "qwen3:8b"]);
    expect(world.reported).toHaveLength(1);
    expect(count(world, "GET /api/ps")).toBe(1);
  });

  test("are read every half a minute while other clients use the server", async () => {
    const world = start(ollama());
    await probe(world);
    await pass(world, 10_000);
    await probe(world);
    expect(count(world, "GET /api/ps")).toBe(1);
    world.replies["GET /api/ps"] = running("qwen3:8b");
    await pass(world, 20_000);
    await probe(world);
    expect(count(world, "GET /api/ps")).toBe(2);
    expect(world.reported).toEqual([[], ["qwen3:8b"]]);
  });

  test("are read after use, every 10 s at most, and reported when they are others", async () => {
    const world = start(ollama());
    await probe(world);
    world.replies["GET /api/ps"] = running("llama3.2:latest");
    await use(world);
    expect(count(world, "GET /api/ps")).toBe(1);
    for (let request = 0; request < 5; request++) await use(world);
    await pass(world, 9_999);
    expect(count(world, "GET /api/ps")).toBe(1);
    await pass(world, 1);
    expect(count(world, "GET /api/ps")).toBe(2);
    expect(world.reported).toEqual([[], ["llama3.2"]]);
    await pass(world, 60_000);
    expect(count(world, "GET /api/ps")).toBe(2);
    await use(world);
    expect(count(world, "GET /api/ps")).toBe(3);
    expect(world.reported).toHaveLength(2);
  });

  test.each<[string, Reply]>([
    ["no list", { status: 404, body: "404 page not found" }],
    ["another form", json({ models: "none" })],
    ["no response", { failure: { code: "provider_disconnected", message: "closed" } }],
  ])("stay as they were known after %s", async (_what, reply) => {
    const world = start(ollama("llama3.2:latest"));
    await probe(world);
    world.replies["GET /api/ps"] = reply;
    await pass(world, 10_000);
    await use(world);
    expect(count(world, "GET /api/ps")).toBe(2);
    expect(world.server.loadedModels).toEqual(["llama3.2"]);
  });

  test("are at most 64, the participant's among them", async () => {
    const names = Array.from({ length: 100 }, (_, index) => `a${index}:latest`);
    const world = start(ollama(...names, "llama3.2:latest", "x".repeat(300)));
    await probe(world);
    expect(world.server.loadedModels).toHaveLength(64);
    expect(world.server.loadedModels?.[0]).toBe("llama3.2");
  });

  test.each<[string, (world: World) => void]>([
    ["has no listener left", ({ listener }) => void (listener.is = false)],
    ["was closed", ({ server }) => server.close()],
  ])("are not read of a server that %s", async (_what, end) => {
    const world = start(ollama());
    await probe(world);
    await pass(world, 10_000);
    end(world);
    await use(world);
    await pass(world, 60_000);
    expect(count(world, "GET /api/ps")).toBe(1);
  });

  test("are no longer reported once another program is in its place", async () => {
    const world = start(ollama("llama3.2:latest"));
    await probe(world);
    world.replies["GET /v1/models"] = { status: 502, body: "" };
    await probe(world);
    Object.assign(world.replies, {
      "GET /v1/models": list("vllm"),
      "GET /api/version": undefined,
      "GET /api/ps": undefined,
    });
    await probe(world);
    expect(world.reported).toEqual([["llama3.2"], undefined]);
    await use(world);
    expect(count(world, "GET /api/ps")).toBe(1);
  });
});

describe("the loaded models of LM Studio", () => {
  const models = (parallel: number | undefined) =>
    json({
      models: [
        { key: "qwen", loaded_instances: [] },
        {
          key: "llama3.2",
          loaded_instances: parallel === undefined ? [] : [{ id: "l", config: { parallel } }],
        },
      ],
    });

  test("are in the list by which it is recognised, which also has its requests at once", async () => {
    const world = start({
      "GET /v1/models": list("organization_owner"),
      "GET /api/v1/models": models(undefined),
    });
    await probe(world);
    expect(world.server.loadedModels).toEqual([]);
    expect(world.server.engine).toEqual({ slots: 4, elsewhere: 0 });
    expect(count(world, "GET /api/v1/models")).toBe(1);
    world.replies["GET /api/v1/models"] = models(2);
    await pass(world, 10_000);
    await use(world);
    expect(world.server.loadedModels).toEqual(["llama3.2", "l"]);
    expect(world.server.engine).toEqual({ slots: 2, elsewhere: 0 });
  });

  test("are in another list before version 0.4, which runs one request after the other", async () => {
    const world = start({
      "GET /v1/models": list("organization_owner"),
      "GET /api/v1/models": json({ error: "Unexpected endpoint or method." }),
      "GET /api/v0/models": json({
        data: [
          { id: "llama3.2", state: "loaded" },
          { id: "qwen", state: "not-loaded" },
        ],
      }),
    });
    await probe(world);
    expect(world.server.loadedModels).toEqual(["llama3.2"]);
    expect(world.server.engine).toEqual({ slots: 1, elsewhere: 0 });
  });
});

describe("the loaded models of a llama.cpp router", () => {
  const models = (value: string) =>
    json({
      data: [
        { id: "ggml-org/big", aliases: ["big"], owned_by: "llamacpp", status: { value } },
        { id: "llama3.2", aliases: [], owned_by: "llamacpp", status: { value: "unloaded" } },
      ],
    });

  test("are in its models list, and cost no request of their own", async () => {
    const world = start({ "GET /v1/models": models("loaded") });
    await probe(world);
    expect(world.server.loadedModels).toEqual(["big", "ggml-org/big"]);
    expect(count(world, "GET /v1/models")).toBe(1);
    world.replies["GET /v1/models"] = models("unloaded");
    await use(world);
    expect(world.reported).toEqual([["big", "ggml-org/big"], []]);
  });
});

test.each([
  ["a llama-server of one model", list("llamacpp")],
  ["vLLM", list("vllm")],
  ["an unknown server", list("acme")],
])("%s does not say what it has loaded, and gets no request for it", async (_what, reply) => {
  const world = start({ "GET /v1/models": reply });
  await probe(world);
  const before = world.provider.lines().length;
  await use(world);
  await pass(world, 60_000);
  expect(world.provider.lines().slice(before)).toEqual(["POST /v1/chat/completions"]);
  expect(world.reported).toEqual([]);
});
