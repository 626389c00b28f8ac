import Anthropic from "@anthropic-ai/sdk";
import { NotFoundError } from "openai";
import { describe, expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { join, joinDirect, PATHS } from "../support/hub/joining.ts";
import { openaiAt, userSays } from "../support/clients/openai-client.ts";
import { BASE_URLS, startTestHub } from "../support/hub/start-test-hub.ts";
import { createGate } from "../support/waiting.ts";

const weatherParameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

const variants = PATHS.flatMap((path) =>
  Object.entries(BASE_URLS).map(([base, baseUrlOf]) => ({ path, base, baseUrlOf })),
);

/** A hub, a provider, a participant on the path, and the SDK pointed at the base URL. */
async function setUp({ path, baseUrlOf }: (typeof variants)[number], options = {}) {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub());
  const provider = stack.use(await startFakeProvider(options));
  const code = await hub.createRoom();
  stack.use(await join(path, hub, code, { endpoint: provider.url }));
  const openai = openaiAt(baseUrlOf(hub, code));
  const owned = stack.move();
  return { hub, provider, code, openai, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe.each(variants)("the OpenAI SDK at $base over $path", (variant) => {
  test("gets a chat completion, and the provider its own model name", async () => {
    await using room = await setUp(variant);
    const completion = await room.openai.chat.completions.create({
      model: "*",
      messages: userSays("to be or not"),
    });
    expect(completion.choices[0]?.message.content).toBe("to be or not");
    expect(completion.usage?.completion_tokens).toBe(4);
    expect(room.provider.requests.at(-1)?.json["model"]).toBe("fake-model");
  });

  test("gets a streamed chat completion piece by piece", async () => {
    await using room = await setUp(variant);
    const stream = await room.openai.chat.completions.create({
      model: "ada",
      messages: userSays("to be or not"),
      stream: true,
      stream_options: { include_usage: true },
    });
    const pieces: string[] = [];
    let outputTokens: number | undefined;
    for await (const chunk of stream) {
      const content = chunk.choices[0]?.delta.content ?? "";
      if (content !== "") pieces.push(content);
      outputTokens = chunk.usage?.completion_tokens ?? outputTokens;
    }
    expect(pieces).toEqual(["to", " be", " or", " not"]);
    expect(outputTokens).toBe(4);
  });

  test("gets a response", async () => {
    await using room = await setUp(variant);
    const response = await room.openai.responses.create({ model: "fake-model", input: "to be" });
    expect(response.output_text).toBe("to be");
    expect(response.status).toBe("completed");
  });

  test("gets a streamed response with every event in order", async () => {
    await using room = await setUp(variant);
    const stream = room.openai.responses.stream({ model: "*", input: "to be or not" });
    const numbers: number[] = [];
    for await (const event of stream) numbers.push(event.sequence_number);
    expect(numbers).toEqual(numbers.map((_number, index) => index));
    expect((await stream.finalResponse()).output_text).toBe("to be or not");
  });

  test("calls a chat tool and returns its result, streamed and not", async () => {
    await using room = await setUp(variant);
    const tools = [
      {
        type: "function" as const,
        function: { name: "weather", parameters: weatherParameters },
      },
    ];
    for (const isStream of [false, true]) {
      const asked = userSays("Oslo");
      const body = { model: "*", messages: asked, tools };
      const first = isStream
        ? await room.openai.chat.completions.stream(body).finalChatCompletion()
        : await room.openai.chat.completions.create(body);
      const message = first.choices[0]!.message;
      const call = message.tool_calls?.[0];
      if (call?.type !== "function") throw new Error("no tool call");
      expect(call.function).toMatchObject({ name: "weather", arguments: '{"city":"Oslo"}' });
      const second = await room.openai.chat.completions.create({
        model: "*",
        tools,
        messages: [...asked, message, { role: "tool", tool_call_id: call.id, content: "rain" }],
      });
      expect(second.choices[0]?.message.content).toBe("rain");
    }
  });

  test("calls a responses tool and returns its result", async () => {
    await using room = await setUp(variant);
    const tools = [
      { type: "function" as const, name: "weather", strict: true, parameters: weatherParameters },
    ];
    const first = await room.openai.responses.create({ model: "*", input: "Oslo", tools });
    const call = first.output[0];
    if (call?.type !== "function_call") throw new Error("no tool call");
    expect(call).toMatchObject({ name: "weather", arguments: '{"city":"Oslo"}' });
    const second = await room.openai.responses.create({
      model: "*",
      tools,
      input: [
        { role: "user", content: "Oslo" },
        call,
        { type: "function_call_output", call_id: call.call_id, output: "rain" },
      ],
    });
    expect(second.output_text).toBe("rain");
  });

  test("sends an image of 8 MB", async () => {
    await using room = await setUp(variant);
    const url = `data:image/png;base64,${"iVBORw0K".repeat(2 ** 20)}`;
    const completion = await room.openai.chat.completions.create({
      model: "*",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url } },
          ],
        },
      ],
    });
    expect(completion.choices[0]?.message.content).toBe("look");
    const body = room.provider.requests.at(-1)!.json as unknown as {
      messages: { content: { image_url?: { url: string } }[] }[];
    };
    expect(body.messages[0]?.content[1]?.image_url?.url === url).toBe(true);
  });

  test("aborts a stream, and the provider's generation ends with it", async () => {
    const gate = createGate();
    await using room = await setUp(variant, {
      behave: () => ({ kind: "normal", words: 50, gate: gate.opened, gateAfterChunks: 5 }),
    });
    const stream = await room.openai.chat.completions.create({
      model: "*",
      messages: userSays("go on"),
      stream: true,
    });
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content?.includes("w2") === true) break;
    }
    stream.controller.abort();
    await room.provider.waitFor(({ aborted }) => aborted === 1);
  });

  test("lists models and retrieves one by any selector form", async () => {
    await using room = await setUp(variant);
    const { id } = await joinDirect(room.hub, room.code, {
      id: "qwen",
      nickname: "Alan",
      model: "qwen/qwen3",
      endpoint: room.provider.url,
    });
    const models = [];
    for await (const model of room.openai.models.list()) models.push(model);
    expect(models.map((model) => [model.id, model.object, model.owned_by])).toEqual([
      ["ada", "model", "Ada"],
      [id, "model", "Alan"],
    ]);
    expect(models[1]).toMatchObject({ service: { nickname: "Alan", model: "qwen/qwen3" } });
    for (const selector of [id, "model:qwen/qwen3", "qwen/qwen3"]) {
      expect((await room.openai.models.retrieve(selector)).id).toBe(id);
    }
  });

  test("finds the room by its code in lower case", async () => {
    await using room = await setUp(variant);
    const openai = openaiAt(variant.baseUrlOf(room.hub, room.code.toLowerCase()));
    const completion = await openai.chat.completions.create({
      model: "*",
      messages: userSays("hello"),
    });
    expect(completion.choices[0]?.message.content).toBe("hello");
    expect((await openai.models.retrieve("ada")).id).toBe("ada");
  });

  test("throws the hub's error for a model that no participant serves", async () => {
    await using room = await setUp(variant);
    const asking = room.openai.chat.completions.create({
      model: "fake-modle",
      messages: userSays("hello"),
    });
    const error = await asking.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ status: 404, code: "model_not_found", param: "model" });
    expect((error as NotFoundError).requestID).toMatch(/\S/);
  });
});

test("the provider gets authHeaders and never the client's own credentials", async () => {
  for (const path of PATHS) {
    await using hub = await startTestHub();
    await using provider = await startFakeProvider({ apiKey: "k" });
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, {
      endpoint: provider.url,
      authHeaders: { Authorization: "Bearer k" },
    });
    const openai = openaiAt(`${hub.url}/rooms/${code}/v1`);
    await openai.chat.completions.create(
      { model: "*", messages: userSays("hello") },
      { headers: { cookie: "session=1" } },
    );
    const { headers } = provider.requests.at(-1)!;
    expect(headers.authorization).toBe("Bearer k");
    expect(headers.cookie).toBeUndefined();
    expect(JSON.stringify(provider.requests.map((request) => request.rawHeaders))).not.toContain(
      "sk-the-clients-own",
    );
  }
});

describe("an SDK that retries twice", () => {
  const retries = { maxRetries: 2 };

  /** Two participants in front of one model server that fails twice. */
  async function setUpFailing(status: number, headers: Record<string, string>) {
    await using stack = new AsyncDisposableStack();
    let failures = 2;
    const hub = stack.use(await startTestHub());
    const provider = stack.use(
      await startFakeProvider({
        // `retry-after-ms` is relayed, so that the SDK does not pause for a second.
        behave: () =>
          failures-- > 0
            ? { kind: "status", status, headers: { "retry-after-ms": "1", ...headers } }
            : undefined,
      }),
    );
    const code = await hub.createRoom();
    await joinDirect(hub, code, { id: "ada", endpoint: provider.url });
    await joinDirect(hub, code, { id: "bob", endpoint: provider.url });
    const owned = stack.move();
    const generations = () => provider.requests.filter(({ method }) => method === "POST").length;
    return { hub, code, generations, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  }

  test.each([408, 409, 429, 500, 502, 504])(
    "gets its completion from a server that responds %i twice, in the third call",
    async (status) => {
      await using room = await setUpFailing(status, {});
      const openai = openaiAt(`${room.hub.url}/rooms/${room.code}/v1`);
      const completion = await openai.chat.completions.create(
        { model: "fake-model", messages: userSays("hello") },
        retries,
      );
      expect(completion.choices[0]?.message.content).toBe("hello");
      expect(room.generations()).toBe(3);
    },
  );

  test.each([409, 502])("of Anthropic gets its message likewise after %i", async (status) => {
    await using room = await setUpFailing(status, {});
    const anthropic = new Anthropic({
      baseURL: `${room.hub.url}/rooms/${room.code}`,
      apiKey: "roomhub",
    });
    const message = await anthropic.messages.create(
      { model: "fake-model", max_tokens: 9, messages: [{ role: "user", content: "hello" }] },
      retries,
    );
    expect(message.content).toMatchObject([{ type: "text", text: "hello" }]);
    expect(room.generations()).toBe(3);
  });

  test("stops after the first failure where the model server says so", async () => {
    await using room = await setUpFailing(409, { "x-should-retry": "false" });
    const openai = openaiAt(`${room.hub.url}/rooms/${room.code}/v1`);
    const creating = openai.chat.completions.create(
      { model: "fake-model", messages: userSays("hello") },
      retries,
    );
    await expect(creating).rejects.toMatchObject({ status: 409 });
    expect(room.generations()).toBe(1);
  });
});

test("embeddings and completions work with the SDK as well", async () => {
  await using hub = await startTestHub();
  await using provider = await startFakeProvider();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url });
  const openai = openaiAt(`${hub.url}/rooms/${code}/v1`);
  const { data } = await openai.embeddings.create({ model: "*", input: ["one", "three"] });
  expect(data.map(({ embedding }) => embedding[0])).toEqual([3, 5]);
  const { choices } = await openai.completions.create({ model: "*", prompt: "to be" });
  expect(choices[0]?.text).toBe("to be");
});
