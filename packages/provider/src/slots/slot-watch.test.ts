import { SimulatedWorld } from "../../../protocol/src/simulated-world.fixture.ts";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ModelServer } from "../model-server.ts";
import { listen, type Reply, scriptServer } from "../scripted-server.fixture.ts";
import type { EngineLoad } from "./slot-watch.ts";
import { settle } from "../settle.fixture.ts";

/** What a real llama-server of two slots returned. */
function recorded(name: string): string {
  const url = new URL(`../../../../tests/fixtures/llama.cpp/${name}.http`, import.meta.url);
  return readFileSync(url, "utf8").split("\r\n\r\n")[1] ?? "";
}

const chat = "POST /v1/chat/completions";
const props: Reply = { body: recorded("props") };
const busySlots = (busy: number): Reply => ({
  body: JSON.stringify([0, 1].map((id) => ({ id, n_ctx: 4096, is_processing: id < busy }))),
});
const change = (reply: Reply, fields: object): Reply => ({
  body: JSON.stringify({ ...(JSON.parse(String(reply.body)) as object), ...fields }),
});

/** A llama-server whose responses are set by their request line, and what is reported of its slots. */
function start(script: Record<string, Reply | undefined>) {
  const time = new SimulatedWorld();
  const reported: (EngineLoad | undefined)[] = [];
  const listener = { is: true };
  const replies: Record<string, Reply | undefined> = {
    "GET /v1/models": { body: recorded("models") },
    "GET /props": props,
    "GET /slots": { body: recorded("slots") },
    [chat]: { hangs: "before-head" },
    ...script,
  };
  const provider = scriptServer(({ line, body }) =>
    body === "{}" ? { status: 400, body: recorded("chat-empty") } : replies[line],
  );
  const server = new ModelServer({
    call: provider.call,
    baseUrl: "http://127.0.0.1:8080/v1",
    headers: () => ({ authorization: "Bearer k" }),
    declared: () => ({}),
    onCapabilities: () => {},
    onEngine: (load) => reported.push(load),
    hasListener: () => listener.is,
    model: () => "tiny",
    world: time,
  });
  return { replies, time, provider, server, reported, listener };
}

type World = ReturnType<typeof start>;

/** A probe, and what follows in the background. */
async function probe({ server }: World): Promise<void> {
  await server.probe(1_000);
  await settle();
}

async function pass(world: World, ms: number): Promise<void> {
  await world.time.advance(ms);
  await settle();
}

/** A request that its client leaves. */
async function cancelOne({ server }: World): Promise<void> {
  const heard = listen(server, { path: "/chat/completions", body: [Buffer.from('{"model":"m"}')] });
  heard.call.cancel();
  await heard.closed;
}

const lines = ({ provider }: World, from: number) => provider.lines().slice(from);

test("the slots of a llama-server are read with the first look, in one GET of /props", async () => {
  const world = start({});
  await probe(world);
  expect(world.server.engine).toEqual({ slots: 2, elsewhere: 0 });
  expect(world.reported).toEqual([{ slots: 2, elsewhere: 0 }]);
  const requested = world.provider.lines();
  expect(requested.filter((line) => line === "GET /slots")).toHaveLength(1);
  expect(requested.slice(0, 2)).toEqual(["GET /v1/models", "GET /props"]);
});

test("a server with another number of slots after a restart is noticed within a minute", async () => {
  const world = start({});
  await probe(world);
  world.replies["GET /props"] = change(props, { total_slots: 4 });
  const before = world.provider.lines().length;
  await world.time.advance(59_999);
  await probe(world);
  await world.time.advance(1);
  await probe(world);
  expect(world.server.engine).toEqual({ slots: 4, elsewhere: 0 });
  expect(lines(world, before)).toEqual(["GET /v1/models", "GET /v1/models", "GET /props"]);
});

test.each<[string, Reply | undefined]>([
  ["refuses the question", { status: 401, body: recorded("key-models-without") }],
  ["says nothing of slots", change(props, { total_slots: undefined })],
  ["says nonsense", change(props, { total_slots: -1 })],
])("a llama-server that %s has no known slots", async (_what, reply) => {
  const world = start({ "GET /props": reply });
  await probe(world);
  expect(world.server.engine).toBeUndefined();
  expect(world.provider.lines()).not.toContain("GET /slots");
});

test("the slots of a server are not those of another program in its place", async () => {
  const world = start({});
  await probe(world);
  world.replies["GET /v1/models"] = { status: 502, body: "" };
  await probe(world);
  const other: Reply = { body: '{"data":[{"id":"tiny","owned_by":"library"}]}' };
  Object.assign(world.replies, {
    "GET /v1/models": other,
    "GET /props": undefined,
    "GET /api/version": { body: '{"version":"0.14.0"}' },
  });
  const before = world.provider.lines().length;
  await probe(world);
  expect(world.reported).toEqual([
    { slots: 2, elsewhere: 0 },
    { slots: 1, elsewhere: 0 },
  ]);
  expect(world.server.engine).toEqual({ slots: 1, elsewhere: 0 });
  expect(lines(world, before).filter((line) => /props|slots/.test(line))).toEqual([]);
});

describe("after a cancelled request", () => {
  test("the slots are read until they are free, ever less often", async () => {
    const world = start({});
    await probe(world);
    world.replies["GET /slots"] = busySlots(1);
    await cancelOne(world);
    const before = world.provider.lines().length;
    await pass(world, 2_500);
    expect(world.server.engine).toEqual({ slots: 2, elsewhere: 1 });
    expect(lines(world, before)).toEqual(["GET /props", "GET /slots"]);
    await pass(world, 4_999);
    expect(lines(world, before)).toHaveLength(2);
    await pass(world, 1);
    expect(lines(world, before)).toHaveLength(4);
    world.replies["GET /slots"] = busySlots(0);
    await pass(world, 10_000);
    expect(world.server.engine).toEqual({ slots: 2, elsewhere: 0 });
    await pass(world, 600_000);
    expect(lines(world, before)).toHaveLength(6);
  });

  test("nothing is read while the server has not had its second of quiet, in which it looks for closed connections", async () => {
    const world = start({});
    await probe(world);
    await cancelOne(world);
    const before = world.provider.lines().length;
    await pass(world, 2_499);
    expect(lines(world, before)).toEqual([]);
  });

  test("a slot with a request that runs here does not count", async () => {
    const world = start({});
    await probe(world);
    const running = listen(world.server, { path: "/chat/completions", body: [] });
    await cancelOne(world);
    world.replies["GET /slots"] = busySlots(2);
    await pass(world, 2_500);
    expect(world.server.engine).toEqual({ slots: 2, elsewhere: 1 });
    running.call.cancel();
    await running.closed;
  });

  test("a server that fell asleep meanwhile is not woken", async () => {
    const world = start({});
    await probe(world);
    await cancelOne(world);
    world.replies["GET /props"] = change(props, { is_sleeping: true });
    const before = world.provider.lines().length;
    await pass(world, 60_000);
    expect(lines(world, before)).toEqual(["GET /props"]);
  });

  test("a server that does not respond is tried again, for ten minutes at most", async () => {
    const world = start({});
    await probe(world);
    await cancelOne(world);
    world.replies["GET /slots"] = busySlots(2);
    await pass(world, 2_500);
    world.replies["GET /props"] = { hangs: "before-head" };
    for (let minute = 0; minute < 15; minute++) await pass(world, 60_000);
    expect(world.server.engine).toEqual({ slots: 2, elsewhere: 0 });
    const before = world.provider.lines().length;
    await pass(world, 600_000);
    expect(lines(world, before)).toEqual([]);
  });

  test.each<[string, Record<string, Reply>, boolean]>([
    ["has no list of slots", { "GET /props": change(props, { endpoint_slots: false }) }, true],
    ["has no listener left", {}, false],
  ])("nothing is read of a server that %s", async (_what, script, hasListener) => {
    const world = start(script);
    await probe(world);
    world.listener.is = hasListener;
    await cancelOne(world);
    const before = world.provider.lines().length;
    await pass(world, 60_000);
    expect(lines(world, before)).toEqual([]);
  });

  test("nothing is read of a server that was closed", async () => {
    const world = start({});
    await probe(world);
    await cancelOne(world);
    world.server.close();
    const before = world.provider.lines().length;
    await pass(world, 60_000);
    expect(lines(world, before)).toEqual([]);
  });
});

describe("a router", () => {
  const routed = "?model=tiny&autoload=false";
  const list = (value: string): Reply => ({
    body: JSON.stringify({
      data: [
        { id: "big", aliases: [], owned_by: "llamacpp", status: { value: "unloaded" } },
        { id: "ggml-org/tiny", aliases: ["tiny"], owned_by: "llamacpp", status: { value } },
      ],
    }),
  });
  const own: Reply = {
    body: '{"role":"router","default_generation_settings":{"params":null,"n_ctx":0},"build_info":"b1"}',
  };
  const script = (value: string): Record<string, Reply> => ({
    "GET /v1/models": list(value),
    "GET /props": own,
    [`GET /props${routed}`]: props,
    [`GET /slots${routed}`]: busySlots(0),
  });

  test.each(["unloaded", "loading", "sleeping", "downloading"])(
    "gets no request about a model that is %s",
    async (value) => {
      const world = start(script(value));
      await probe(world);
      expect(world.server.engine).toBeUndefined();
      const requested = world.provider.lines().filter((line) => /props|slots/.test(line));
      expect(requested).toEqual(["GET /props"]);
    },
  );

  test("reports the slots of a model while its list has it as loaded", async () => {
    const world = start(script("unloaded"));
    await probe(world);
    world.replies["GET /v1/models"] = list("loaded");
    await probe(world);
    expect(world.server.engine).toEqual({ slots: 2, elsewhere: 0 });
    world.replies["GET /v1/models"] = list("unloaded");
    await cancelOne(world);
    const before = world.provider.lines().length;
    await pass(world, 60_000);
    // Once for the loaded models, once before the slots.
    expect(lines(world, before)).toEqual(["GET /v1/models", "GET /v1/models"]);
    expect(world.server.engine).toEqual({ slots: 2, elsewhere: 0 });
  });
});
