import { describe, expect, test } from "vitest";
import { join, PATHS } from "../support/hub/joining.ts";
import { startRoutedProvider, type Routes } from "../support/providers/routed-provider.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

const chunk = (fields: object) =>
  `data: ${JSON.stringify({ object: "chat.completion.chunk", ...fields })}\n\n`;
const words = [
  chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "hi" } }] }),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
];
const usage = chunk({
  choices: [],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
});
const done = "data: [DONE]\n\n";
const whole = words.join("") + done;
const withUsage = words.join("") + usage + done;

/** Reports its usage on request. */
const asked: Routes = {
  "POST /chat/completions": ({ body }) => ({
    stream: body.includes('"include_usage":true') ? withUsage : whole,
  }),
};

/** Rejects the field. */
const refusing: Routes = {
  "POST /chat/completions": ({ body }) =>
    body.includes("stream_options")
      ? { status: 422, json: { error: { message: "unknown field: stream_options" } } }
      : { stream: whole },
};

async function stream(hub: TestHub, code: string, fields: object = {}): Promise<string> {
  const json = { model: "*", stream: true, messages: [], ...fields };
  const answer = await hub.fetch(`/v1/rooms/${code}/chat/completions`, { json });
  return answer.text();
}

const knows = { capabilities: { streamUsage: "supported", chatCompletions: "supported" } } as const;

describe.each(PATHS)("over %s", (path) => {
  test("a provider known to accept it gets a request for usage, and the client does not see the extra chunk", async () => {
    await using provider = await startRoutedProvider(asked);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, {
      ...knows,
      model: "m",
      endpoint: provider.url,
    });
    const events = await hub.watch(code);
    expect(await stream(hub, code)).toBe(whole);
    const { data } = await events.next("llm.complete");
    expect(data).toMatchObject({
      metrics: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
    });
  });

  test("a refusal of stream_options does not reach the client, and the field is not sent again", async () => {
    await using provider = await startRoutedProvider(refusing);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, {
      ...knows,
      model: "m",
      endpoint: provider.url,
    });
    const events = await hub.watch(code);
    expect(await stream(hub, code)).toBe(whole);
    expect(await stream(hub, code)).toBe(whole);
    await events.waitFor("two ends", () => events.of("llm.complete").length === 2);
    expect(events.of("llm.request")).toHaveLength(2);
    const bodies = provider.requests.filter(({ method }) => method === "POST");
    expect(bodies.map(({ body }) => body.includes("stream_options"))).toEqual([true, false, false]);
  });
});

test.each([
  [
    "a client that asks gets what it asked for",
    { stream_options: { include_usage: true } },
    withUsage,
  ],
  ["a client that declines is left alone", { stream_options: { include_usage: false } }, whole],
])("%s", async (_what, fields, expected) => {
  await using provider = await startRoutedProvider(asked);
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using _ada = await join("direct", hub, code, {
    ...knows,
    model: "m",
    endpoint: provider.url,
  });
  expect(await stream(hub, code, fields)).toBe(expected);
});

test("usage is not requested where the hub's options forbid it, or the provider is not known to accept it", async () => {
  await using provider = await startRoutedProvider(asked);
  for (const [streamUsage, capabilities] of [
    [false, knows.capabilities],
    [true, { chatCompletions: "supported", streamUsage: "unknown" }],
  ] as const) {
    await using hub = await startTestHub({ streamUsage });
    const code = await hub.createRoom();
    await using _ada = await join("direct", hub, code, {
      capabilities,
      model: "m",
      endpoint: provider.url,
    });
    expect(await stream(hub, code)).toBe(whole);
  }
  const posts = provider.requests.filter(({ method }) => method === "POST");
  expect(posts.map(({ body }) => body)).not.toContainEqual(
    expect.stringContaining("include_usage"),
  );
});
