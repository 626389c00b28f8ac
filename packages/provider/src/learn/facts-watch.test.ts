import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../../protocol/src/simulated-world.fixture.ts";
import { ModelServer } from "../model-server.ts";
import { listen, type Reply, scriptServer } from "../scripted-server.fixture.ts";
import type { KnownFacts } from "./facts-watch.ts";
import { settle } from "../settle.fixture.ts";

const json = (value: unknown): Reply => ({ body: JSON.stringify(value) });
const unreachable: Reply = {
  failure: { code: "provider_unreachable", message: "connection refused" },
};

/** A server whose replies are set by their request line, and what is reported of its model. */
function start(replies: Record<string, Reply | undefined>, model = "qwen3:8b") {
  const time = new SimulatedWorld();
  const reported: KnownFacts[] = [];
  const current = { model, isAway: false };
  const provider = scriptServer(({ line, body }) => {
    if (current.isAway) return unreachable;
    return body === "{}" ? { status: 400, body: "{}" } : replies[line];
  });
  const server = new ModelServer({
    call: provider.call,
    baseUrl: "http://127.0.0.1:8080/v1",
    headers: () => ({}),
    declared: () => ({}),
    onCapabilities: () => {},
    onFacts: (facts) => reported.push(facts),
    model: () => current.model,
    world: time,
  });
  return { replies, time, provider, server, reported, current };
}

type World = ReturnType<typeof start>;

async function probe({ server }: World): Promise<void> {
  await server.probe(1_000);
  await settle();
}

/** Lets time pass with the probes that are due meanwhile. */
async function pass(world: World, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    await world.time.advance(1_000);
    if (world.server.startLook()) await probe(world);
  }
}

async function use(world: World, reply: Reply): Promise<void> {
  world.replies["POST /v1/chat/completions"] = reply;
  const body = [Buffer.from('{"model":"m"}')];
  await listen(world.server, { path: "/chat/completions", body }).closed;
  await settle();
}

const llama = (n_ctx: number) => ({
  "GET /v1/models": json({
    data: [{ id: "qwen3:8b", owned_by: "llamacpp", meta: { n_ctx, n_ctx_train: 40_960 } }],
  }),
  "GET /props": json({ default_generation_settings: { n_ctx }, total_slots: 1 }),
});

const ollama = (context_length: number | undefined) => ({
  "GET /v1/models": json({ data: [{ id: "qwen3:8b", owned_by: "library" }] }),
  "GET /api/version": json({ version: "0.14.0" }),
  "GET /api/ps": json({
    models: context_length === undefined ? [] : [{ name: "qwen3:8b", context_length }],
  }),
  "POST /api/show": json({
    model_info: { "general.architecture": "qwen3", "qwen3.context_length": 40_960 },
    capabilities: ["completion", "tools"],
  }),
});

const contexts = ({ reported }: World) => reported.map(({ context }) => context?.tokens);

describe("the context of a model", () => {
  test("is another one as soon as a server is back that was restarted", async () => {
    const world = start(llama(4_096));
    await probe(world);
    world.current.isAway = true;
    await pass(world, 40_000);
    Object.assign(world.replies, llama(16_384));
    world.current.isAway = false;
    await pass(world, 5_000);
    expect(contexts(world)).toEqual([4_096, 16_384]);
  });

  test("is another one within a minute where a restart was not noticed", async () => {
    const world = start(llama(4_096));
    await probe(world);
    Object.assign(world.replies, llama(16_384));
    await pass(world, 60_000);
    expect(contexts(world)).toEqual([4_096, 16_384]);
  });

  test("is that of Ollama's loaded model, also after it was unloaded, and another one once it is loaded so", async () => {
    const world = start(ollama(undefined));
    await probe(world);
    expect(world.server.facts.context).toEqual({
      ...{ tokens: 40_960, from: "trained", mayTruncate: true },
    });
    for (const loaded of [8_192, undefined, 32_768]) {
      Object.assign(world.replies, ollama(loaded));
      await pass(world, 60_000);
    }
    expect(contexts(world)).toEqual([40_960, 8_192, 32_768]);
    expect(world.server.facts.context?.from).toBe("loaded");
  });

  test("is learned without a request that generates or loads", async () => {
    const world = start(ollama(undefined));
    await probe(world);
    await pass(world, 120_000);
    const posts = world.provider.requests.filter(({ line }) => line.startsWith("POST"));
    const generating = posts.filter(({ line, body }) => line !== "POST /api/show" && body !== "{}");
    expect(generating).toEqual([]);
  });

  test("of another model is not that of the model before", async () => {
    const world = start(llama(4_096));
    await probe(world);
    world.current.model = "gemma3";
    world.replies["GET /v1/models"] = json({ data: [{ id: "gemma3", owned_by: "vllm" }] });
    world.server.modelChanged();
    await probe(world);
    expect(contexts(world)).toEqual([4_096, undefined]);
  });
});

describe("the name in responses", () => {
  test.each([
    ["qwen3:8b", undefined],
    ["qwen3:8b:latest", undefined],
    ["/models/Qwen3:8b.gguf", undefined],
    ["qwen3:8b-2026-08-06", undefined],
    ["qwen3:8b-20260806", undefined],
    ["llama3", "llama3"],
  ])("%s is reported as %s", async (name, answersAs) => {
    const world = start(llama(4_096));
    await probe(world);
    await use(world, json({ model: name, choices: [] }));
    expect(world.server.facts.answersAs).toBe(answersAs);
  });

  test("is read of a stream, once after each look, and of no error", async () => {
    const world = start(llama(4_096));
    await probe(world);
    await use(world, { ...json({ error: { message: "no" }, model: "llama3" }), status: 400 });
    expect(world.server.facts.answersAs).toBeUndefined();
    const event = `data: {"choices":[],"model":"llama3"}\n\n`;
    await use(world, { type: "event-stream", body: [event, "data: [DONE]\n\n"] });
    expect(world.server.facts.answersAs).toBe("llama3");
    await use(world, json({ model: "qwen3:8b", choices: [] }));
    expect(world.server.facts.answersAs).toBe("llama3");
    await pass(world, 30_000);
    await use(world, json({ model: "qwen3:8b", choices: [] }));
    expect(world.server.facts.answersAs).toBeUndefined();
  });
});
