import { RoomhubError } from "@roomhub/client";
import type { BenchResult } from "@roomhub/room-state";
import { expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { aRoute } from "../doctor/doctor.fixture.ts";
import { aParticipant, aRoom, makeWorld, passing } from "../test-context.fixture.ts";

const idle = { active: 0, queued: 0, limit: 2, limitFrom: "declared" as const };
const ana = aParticipant({ load: idle, context: { tokens: 32_768, from: "loaded" } });

const client: Partial<Client> = {
  getRoom: async () => aRoom(),
  listParticipants: async () => [ana],
  explainRoute: async () => quiet,
  setMeasuredFeatures: async () => ana,
  health: async () => ({}) as Awaited<ReturnType<Client["health"]>>,
};
const quiet = { ...aRoute, queue: { waiting: 0, limit: 8, waitMs: 1000 }, participants: [] };

function textOf(init: RequestInit | undefined): string {
  return typeof init?.body === "string" ? init.body : "";
}

/** A model with a clock of its own: 50 ms to the first token, then 1 s for 101 tokens. */
function aModel(message: object = { content: "no" }) {
  let nowMs = 0;
  const bodies: { stream?: boolean; messages: { content: string }[] }[] = [];
  const fetch: CliContext["fetch"] = async (_url, init) => {
    const body = JSON.parse(textOf(init)) as (typeof bodies)[number];
    bodies.push(body);
    if (body.stream !== true) return Response.json({ choices: [{ message }] });
    const chunk = (text: object) => `data: ${JSON.stringify(text)}\n\n`;
    const usage = { prompt_tokens: body.messages[0]?.content.length ?? 0, completion_tokens: 101 };
    const parts = [
      () => ((nowMs += 50), chunk({ choices: [{ index: 0, delta: { content: "1" } }] })),
      () => (
        (nowMs += 1_000),
        chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })
      ),
      () => `${chunk({ choices: [], usage })}data: [DONE]\n\n`,
    ];
    const stream = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const part = parts.shift();
          if (part === undefined) controller.close();
          else controller.enqueue(new TextEncoder().encode(part()));
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
  return { fetch, world: passing({ nowMs: () => nowMs }), bodies };
}

test("measures each participant, with prompts that were never sent before", async () => {
  const { fetch, world: time, bodies } = aModel();
  const world = makeWorld({ fetch, world: time }, client);
  expect(await world.run("bench", "ABC234", "--json")).toBe(0);
  const { participants } = JSON.parse(world.stdout.text) as BenchResult;
  expect(participants).toMatchObject([
    {
      id: "ana-llama3",
      context: 32_768,
      firstToken: [
        { promptBytes: 1024, promptTokens: 1024, ms: 50 },
        { promptBytes: 16_384, promptTokens: 16_384, ms: 50 },
      ],
      generation: [{ requests: 1, tokensPerSecond: 100 }, { requests: 2 }],
      canaries: { tools: "failed", schema: "failed", vision: "failed", needle: "failed" },
      errors: [],
    },
  ]);
  const prompts = bodies.map(({ messages }) => JSON.stringify(messages));
  expect(new Set(prompts).size).toBe(prompts.length);
});

test("leaves out a prompt that is longer than the context, and who has a budget", async () => {
  const { fetch, world: time } = aModel();
  const small = { ...ana, id: "small", context: { tokens: 2_048, from: "loaded" as const } };
  const dear = { ...ana, id: "dear", budget: { tokensPerDay: 1000 } };
  const given = { ...client, listParticipants: async () => [small, dear] };
  const world = makeWorld({ fetch, world: time }, given);
  await world.run("bench", "ABC234", "--json");
  const { participants } = JSON.parse(world.stdout.text) as BenchResult;
  expect(participants[0]?.firstToken.map(({ promptBytes }) => promptBytes)).toEqual([1024]);
  expect(participants[1]).toMatchObject({
    skipped: "has a budget; --yes spends of it",
    firstToken: [],
  });

  const spending = makeWorld({ fetch, world: time }, given);
  await spending.run("bench", "ABC234", "--json", "--yes", "--model", "dear");
  const after = JSON.parse(spending.stdout.text) as BenchResult;
  expect(after.participants).toHaveLength(1);
  expect(after.participants[0]).not.toHaveProperty("skipped");
});

test("waits while requests wait in the room, and gives up on one that stays busy", async () => {
  const { fetch, bodies } = aModel();
  const busy = { ...quiet, queue: { ...quiet.queue, waiting: 3 } };
  const world = makeWorld(
    { fetch, world: passing() },
    { ...client, explainRoute: async () => busy },
  );
  expect(await world.run("bench", "ABC234")).toBe(1);
  expect(world.stderr.text).toContain("Room ABC234 is busy");
  expect(bodies).toEqual([]);
});

test("a request that fails is an error of its participant, and the rest is measured", async () => {
  const { fetch, world: time } = aModel();
  const failing: CliContext["fetch"] = async (url, init) =>
    textOf(init).includes("image_url")
      ? Response.json({ error: { message: "no images here" } }, { status: 400 })
      : fetch(url, init);
  const world = makeWorld({ fetch: failing, world: time }, client);
  await world.run("bench", "ABC234");
  expect(world.stdout.text).toMatch(/no +no +refused +no$/m);
  expect(world.stdout.text).toContain("! ana-llama3: no images here\n");
});

test("the host's bench reports what it saw the model do, and works all the same for others", async () => {
  const { fetch, world: time } = aModel({ content: "It is blue, and red." });
  const told: unknown[] = [];
  const setMeasuredFeatures: Client["setMeasuredFeatures"] = async (...call) => {
    told.push(call.slice(0, 3));
    throw new RoomhubError("Only the host may", {
      ...{ status: 403, code: "host_token_required", param: "", hint: undefined },
      ...{ requestId: undefined, retryAfterMs: undefined, participants: undefined },
    });
  };
  const world = makeWorld({ fetch, world: time }, { ...client, setMeasuredFeatures });
  expect(await world.run("bench", "ABC234", "--json")).toBe(0);
  const proven = { vision: "supported", structuredOutput: "ignored" };
  expect(told).toEqual([["ABC234", "ana-llama3", proven]]);
});

test("--save writes a new file, which --against compares with", async () => {
  const { fetch, world: time } = aModel();
  const saved = new Map<string, string>();
  const createFile = async (path: string, text: string) => void saved.set(path, text);
  const readFile = async (path: string) => saved.get(path) ?? "";
  const world = makeWorld({ fetch, world: time, createFile, readFile }, client);
  await world.run("bench", "ABC234", "--save", "a.json");
  expect(JSON.parse(saved.get("a.json") ?? "")).toMatchObject({ version: 1, room: "ABC234" });
  await world.run("bench", "ABC234", "--against", "a.json");
  expect(world.stdout.text).toContain("Nothing changed by more than a tenth since 1970-");
  saved.set("b.json", "{}");
  expect(await world.run("bench", "ABC234", "--against", "b.json")).toBe(2);
  expect(world.stderr.text).toContain("b.json is not a result of bench");
});
