import type { Features, ModelContext } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { updateFacts } from "../domain/needs/model-facts.ts";
import type { Participant } from "../domain/participant.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench, type SendOptions } from "./dispatch.fixture.ts";

const json = '{"object":"chat.completion","choices":[]}';

interface Facts {
  model?: string;
  context?: ModelContext | number;
  features?: Partial<Features>;
}

function participant(id: string, { model = "m", context, features }: Facts): Participant {
  const one = aParticipant({ id, model, limit: 1 });
  const unknown = "unknown" as const;
  one.learned.facts = {
    context: typeof context === "number" ? { tokens: context, from: "loaded" } : context,
    features: features && {
      ...{ tools: unknown, vision: unknown, reasoning: unknown, logprobs: unknown },
      ...{ structuredOutput: unknown },
      ...features,
    },
    answersAs: undefined,
  };
  updateFacts(one);
  return one;
}

function startRoom(facts: Record<string, Facts>) {
  const bench = createBench(Object.entries(facts).map(([id, known]) => participant(id, known)));
  const one = (id: string) => bench.room.participants.get(id) as Participant;
  return {
    ...bench,
    one,
    /** the participants that got the request, in order */
    ask(model: string, fields: Record<string, unknown>, options: SendOptions = {}) {
      bench.calls.length = 0;
      const sent = bench.send({ model, fields, ...options });
      return { sent, served: bench.calls.map((call) => call.participant.id) };
    },
    fill: (id: string) => void (one(id).load.active = 1),
    free(id: string) {
      one(id).load.active = 0;
      bench.queues.wake(bench.room.code);
    },
    loseTunnel(id: string, kind: "down" | "loading") {
      const verdict = { readiness: kind, problem: "", sinceMs: 0 };
      one(id).paths.tunnel = { kind: "open", ...verdict };
    },
    get servedNow() {
      return bench.calls.map((call) => call.participant.id);
    },
  };
}

/** At least so many tokens, and no fewer by any tokenizer. */
const prompt = (tokens: number) => ({
  messages: [{ role: "user", content: "word ".repeat(Math.ceil((tokens * 8) / 5)) }],
});
const tools = { tools: [{ type: "function", function: { name: "look", parameters: {} } }] };
const schema = {
  response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } },
};

describe.each(["m", "*", "model:m"])(
  "a prompt beyond a known context, requested as %s",
  (model) => {
    const both = { small: { context: 4_096 }, large: { context: 32_768 } };

    test("goes to the participant whose context is large enough", () => {
      expect(startRoom(both).ask(model, prompt(5_000)).served).toEqual(["large"]);
    });

    test("waits for that one while it is at capacity, or loading", () => {
      const room = startRoom(both);
      room.fill("large");
      expect(room.ask(model, prompt(5_000)).served).toEqual([]);
      room.free("large");
      expect(room.servedNow).toEqual(["large"]);
      const other = startRoom(both);
      other.loseTunnel("large", "loading");
      expect(other.ask(model, prompt(5_000)).served).toEqual([]);
    });

    test("does not wait for one that is offline: the largest that can be reached gets it, and its error passes", () => {
      const room = startRoom({ tiny: { context: 1_024 }, ...both });
      room.loseTunnel("large", "down");
      const { sent, served } = room.ask(model, prompt(5_000));
      expect(served).toEqual(["small"]);
      const refusal = '{"error":{"message":"too long","code":"context_length_exceeded"}}';
      room.call().respond(400, refusal);
      expect(sent.client).toMatchObject({ status: 400, text: refusal });
    });

    test("goes to a participant of which nothing is known rather than to a smaller one", () => {
      const room = startRoom({ small: { context: 4_096 }, unknown: {} });
      expect(room.ask(model, prompt(5_000)).served).toEqual(["unknown"]);
    });

    test("is not held back by what the model was trained for", () => {
      const room = startRoom({ a: { context: { tokens: 2_048, from: "trained" } }, b: {} });
      expect(room.ask(model, prompt(5_000)).served).toEqual(["a"]);
    });
  },
);

test("a short prompt goes to the first, whatever the contexts", () => {
  const room = startRoom({ small: { context: 4_096 }, large: { context: 32_768 } });
  expect(room.ask("model:m", prompt(100)).served).toEqual(["small"]);
});

test("max_tokens count where the model server counts them", () => {
  const context = { tokens: 8_192, from: "configured" } as const;
  const fields = { ...prompt(100), max_tokens: 8_150 };
  const room = startRoom({
    vllm: { context: { ...context, countsMaxTokens: true } },
    other: { context },
  });
  expect(room.ask("model:m", fields).served).toEqual(["other"]);
  expect(room.ask("model:m", { ...fields, max_tokens: 1_000 }).served).toEqual(["vllm"]);
});

test("a participant that the request names gets it whatever its context", () => {
  const room = startRoom({ small: { context: 4_096 }, large: { context: 32_768 } });
  expect(room.ask("small", prompt(5_000)).served).toEqual(["small"]);
});

test("of an alias, the first target that is able takes the request", () => {
  const facts = { small: { model: "s", context: 4_096 }, large: { model: "l", context: 32_768 } };
  const room = startRoom(facts);
  room.room.aliases = room.room.aliases.with({
    ...{ pattern: "claude-*", targets: ["s", "l"], createdAt: 0 },
  });
  expect(room.ask("claude-5", prompt(100)).served).toEqual(["small"]);
  expect(room.ask("claude-5", prompt(5_000)).served).toEqual(["large"]);
  room.free("small");
  room.loseTunnel("large", "down");
  expect(room.ask("claude-5", prompt(5_000)).served).toEqual(["small"]);
});

test("a response says that the prompt may be cut where the model server does not", () => {
  const context = { tokens: 4_096, from: "loaded", mayTruncate: true } as const;
  const room = startRoom({ ollama: { context } });
  const { sent } = room.ask("m", prompt(5_000));
  room.call().respond(200, json);
  expect(sent.client.headers).toMatchObject({ "x-roomhub-may-truncate": "true" });
  const short = room.ask("m", prompt(100));
  room.call().respond(200, json);
  expect(short.sent.client.headers).not.toHaveProperty("x-roomhub-may-truncate");
});

describe("a request with tools or a schema", () => {
  const all: Record<string, Facts> = {
    ignoring: { features: { tools: "unsupported", structuredOutput: "ignored" } },
    unknown: {},
    trying: { features: { tools: "supported", structuredOutput: "best-effort" } },
    sure: { features: { tools: "supported", structuredOutput: "enforced" } },
  };

  test.each([
    ["tools", tools],
    ["a schema", schema],
    ["a schema of Responses", { text: { format: { type: "json_schema", schema: {} } } }],
    ["a schema of messages", { output_config: { format: { type: "json_schema", schema: {} } } }],
  ])("with %s, leaves out participants that are known to lack it", (_what, fields) => {
    const { ignoring = {}, unknown = {} } = all;
    for (const model of ["m", "*", "model:m"]) {
      expect(startRoom({ ignoring, unknown }).ask(model, fields).served).toEqual(["unknown"]);
      expect(startRoom({ ignoring }).ask(model, fields).served).toEqual(["ignoring"]);
    }
  });

  test("by a model's name, goes where the schema is enforced, then where it is tried, then where nothing is known", () => {
    const room = startRoom(all);
    const next = (lost: string) => {
      room.loseTunnel(lost, "down");
      return room.ask("m", schema).served;
    };
    expect(room.ask("m", schema).served).toEqual(["sure"]);
    expect(next("sure")).toEqual(["trying"]);
    expect(next("trying")).toEqual(["unknown"]);
    expect(next("unknown")).toEqual(["ignoring"]);
  });

  test("by a model's name, waits for the best one that is at capacity", () => {
    const room = startRoom(all);
    room.fill("sure");
    expect(room.ask("m", schema).served).toEqual([]);
    room.free("sure");
    expect(room.servedNow).toEqual(["sure"]);
  });

  test("as model: and *, goes to any that is not known to lack it", () => {
    expect(startRoom(all).ask("model:m", schema).served).toEqual(["unknown"]);
    expect(startRoom(all).ask("*", schema).served).toEqual(["unknown"]);
  });

  test.each([
    ["no tools", { tools: [] }],
    ["null", { tools: null }],
    ["an object without a schema", { response_format: { type: "json_object" } }],
    ["text", { text: { format: { type: "text" } } }],
  ])("with %s, has no such need", (_what, fields) => {
    expect(startRoom(all).ask("model:m", fields).served).toEqual(["ignoring"]);
  });
});

describe("x-roomhub-require", () => {
  const facts: Record<string, Facts> = {
    plain: { features: { tools: "supported", vision: "unsupported" } },
    eyes: { features: { tools: "supported", vision: "supported" } },
  };

  test.each(["m", "*", "model:m"])(
    "selects among participants that have it all, for %s",
    (model) => {
      const room = startRoom(facts);
      expect(room.ask(model, prompt(10), { require: "tools, vision" }).served).toEqual(["eyes"]);
    },
  );

  test("is refused with who has it, where the selected participants lack it", () => {
    const room = startRoom({ ...facts, other: { model: "o" } });
    const { sent, served } = room.ask("plain", prompt(10), { require: "vision" });
    expect(served).toEqual([]);
    expect(sent.client.error).toMatchObject({ code: "capability_missing", status: 400 });
    expect(sent.client.error?.message).toBe(
      "plain cannot serve a request that requires vision. Use eyes.",
    );
    expect(sent.client.error?.participants).toEqual([
      { id: "plain", model: "m", reason: "lacks vision" },
    ]);
    const unknown = room.ask("other", prompt(10), { require: "tools,schema" });
    expect(unknown.sent.client.error?.message).toBe(
      "other cannot serve a request that requires tools, schema. No participant of the room is known to have that.",
    );
  });

  test("is 503 while the participants that have it are offline, and waits while they are full", () => {
    const room = startRoom(facts);
    room.fill("eyes");
    expect(room.ask("*", prompt(10), { require: "vision" }).served).toEqual([]);
    room.free("eyes");
    expect(room.servedNow).toEqual(["eyes"]);
    room.loseTunnel("eyes", "down");
    const { sent } = room.ask("*", prompt(10), { require: "vision" });
    expect(sent.client.error).toMatchObject({ code: "participant_offline", status: 503 });
  });

  test("has words that are known", () => {
    const room = startRoom(facts);
    expect(() => room.ask("m", prompt(10), { require: "tools,eyes" })).toThrow(
      'x-roomhub-require has an unknown word: "eyes".',
    );
  });
});
