import { expect, test } from "vitest";
import { join, PATHS } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { startRoutedProvider } from "../support/providers/routed-provider.ts";
import { until } from "../support/waiting.ts";

const completion = { object: "chat.completion", choices: [] };
const long = "word ".repeat(8_000);

/** A model server that lists its model with these fields. */
function startServer(entry: object) {
  return startRoutedProvider({
    "GET /models": () => ({ json: { object: "list", data: [{ id: "m", ...entry }] } }),
    "POST /chat/completions": () => ({ json: completion }),
  });
}

test.each(PATHS)("requests go by what bench has shown of a model, over %s", async (path) => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using blindServer = await startServer({ owned_by: "vllm" });
  await using toolServer = await startServer({ owned_by: "vllm" });
  await using _blind = await join(path, hub, code, {
    ...{ id: "blind", model: "m", endpoint: blindServer.url },
  });
  await using _tool = await join(path, hub, code, {
    ...{ id: "tool", model: "m", endpoint: toolServer.url },
  });
  await until(
    "what is known of the program",
    async () => (await hub.client.listParticipants(code)).map((one) => one.features !== undefined),
    (known) => known.every(Boolean),
  );
  const use = () =>
    hub.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model: "m", messages: [{ role: "user", content: "hi" }] },
      headers: { "x-roomhub-require": "tools" },
    });
  expect((await use()).status).toBe(400);
  const told = await hub.client.setMeasuredFeatures(code, "tool", { tools: "supported" });
  expect(told.features).toMatchObject({ tools: "supported" });
  expect((await use()).headers.get("x-roomhub-participant")).toBe("tool");
  await hub.client.setMeasuredFeatures(code, "tool", {});
  expect((await use()).status).toBe(400);
  const wrong = await hub.fetch(`/v1/rooms/${code}/participants/tool/features`, {
    method: "PUT",
    json: { tools: "perhaps" },
  });
  expect(wrong.status).toBe(400);
});

test.each(PATHS)("requests go to models that are able to serve them, over %s", async (path) => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using smallServer = await startServer({ owned_by: "vllm", max_model_len: 4_096 });
  await using largeServer = await startServer({
    ...{ context_length: 65_536, supported_parameters: ["tools"] },
    architecture: { input_modalities: ["text", "image"] },
  });
  await using _small = await join(path, hub, code, {
    ...{ id: "small", model: "m", endpoint: smallServer.url },
  });
  await using _large = await join(path, hub, code, {
    ...{ id: "large", model: "m", endpoint: largeServer.url, context: 32_768 },
  });
  await until(
    "both contexts",
    async () => (await hub.client.listModels(code)).map((one) => one.context_length),
    (contexts) => JSON.stringify(contexts) === "[4096,32768]",
  );
  const ask = (model: string, content: string, headers: Record<string, string> = {}) =>
    hub.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model, messages: [{ role: "user", content }] },
      headers,
    });
  for (const model of ["*", "m", "model:m"]) {
    const response = await ask(model, long);
    expect(response.headers.get("x-roomhub-participant")).toBe("large");
  }
  const eyes = await ask("model:m", "hi", { "x-roomhub-require": "vision,tools" });
  expect(eyes.headers.get("x-roomhub-participant")).toBe("large");
  expect(largeServer.requests.at(-1)?.headers).not.toHaveProperty("x-roomhub-require");
  const refused = await ask("small", "hi", { "x-roomhub-require": "vision" });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { code: "capability_missing" } });
  expect(smallServer.requests.filter(({ method }) => method === "POST")).toEqual([]);
});

test.each(PATHS)(
  "clients learn in the words and by the code of their surface that a prompt is too long, over %s",
  async (path) => {
    const message =
      "request (9030 tokens) exceeds the available context size (4096 tokens), try increasing it";
    const words = expect.stringContaining("prompt is too long: 9030 tokens > 4096 maximum");
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const error = { code: 400, message, type: "exceed_context_size_error" };
    await using refusing = await startRoutedProvider({
      "POST /chat/completions": () => ({ status: 400, json: { error } }),
    });
    await using streaming = await startRoutedProvider({
      "POST /chat/completions": () => ({ stream: `data: ${JSON.stringify({ error })}\n\n` }),
    });
    await using _one = await join(path, hub, code, {
      id: "one",
      model: "m",
      endpoint: refusing.url,
    });
    await using _two = await join(path, hub, code, {
      ...{ id: "two", model: "m", endpoint: streaming.url },
    });
    const ask = (model: string, surface: string, stream: boolean) =>
      hub.fetch(`/rooms/${code}/v1/${surface}`, {
        json: {
          model,
          stream,
          max_tokens: 9,
          input: "hi",
          messages: [{ role: "user", content: "hi" }],
        },
      });
    for (const stream of [false, true]) {
      const refused = await ask("one", "messages", stream);
      expect([refused.status, await refused.json()]).toEqual([
        400,
        expect.objectContaining({
          type: "error",
          error: expect.objectContaining({ type: "invalid_request_error", message: words }),
        }),
      ]);
    }
    expect(await (await ask("two", "messages", true)).text()).toEqual(words);
    const tooLong = "context_length_exceeded";
    for (const surface of ["chat/completions", "responses"]) {
      for (const stream of [false, true]) {
        const refused = await ask("one", surface, stream);
        expect([refused.status, await refused.json()]).toEqual([
          400,
          { error: { ...error, code: tooLong } },
        ]);
      }
      expect(await (await ask("two", surface, true)).text()).toContain(`"code":"${tooLong}"`);
    }
  },
);
