import { createSseReader } from "@roomhub/protocol";
import { APIError } from "openai";
import { describe, expect, test } from "vitest";
import { join, joinDirect, PATHS } from "../support/hub/joining.ts";
import { openaiAt } from "../support/clients/openai-client.ts";
import {
  LLAMA_MODEL,
  llamaRecording,
  startRecordedLlama,
} from "../support/providers/recorded-llama.ts";
import type { Recording } from "../support/providers/recording.ts";
import { checkEvents } from "../support/documents/open-responses-rules.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { createGate, until } from "../support/waiting.ts";

/** A hub in front of a real llama-server, as recorded. */

const messages = [{ role: "user", content: "hi" }];

/** A gateway in front of it that does not identify itself. */
const anonymousList: Recording = {
  status: 200,
  headers: { "content-type": "application/json" },
  body: Buffer.from(`{"data":[{"id":"${LLAMA_MODEL}"}]}`),
};
const notThere: Recording = { ...anonymousList, status: 404, body: Buffer.from("{}") };

/** Resolves when its capabilities are known. */
async function untilKnown(hub: TestHub, code: string): Promise<void> {
  await until(
    "its capabilities",
    () => hub.client.listParticipants(code),
    ([one]) => one?.capabilities["completions"] === "supported",
  );
}

describe.each(PATHS)("llama.cpp over %s", (path) => {
  test("streams chat byte for byte, timings included, and llm.complete has its tokens", async () => {
    await using llama = await startRecordedLlama();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: llama.url, model: LLAMA_MODEL });
    await untilKnown(hub, code);
    const events = await hub.watch(code);
    const json = { model: "*", stream: true, messages };
    const answer = await hub.fetch(`/v1/rooms/${code}/chat/completions`, { json });
    expect(await answer.text()).toBe(llamaRecording("chat-stream").body.toString());
    expect(llama.asked.at(-1)?.body).toEqual({ ...json, model: LLAMA_MODEL });
    const { data } = await events.next("llm.complete");
    expect(data).toMatchObject({
      metrics: { inputTokens: 30, outputTokens: 4, totalTokens: 34 },
    });
  });

  test("keeps its timings from the second stream on where no look recognised it", async () => {
    await using llama = await startRecordedLlama(({ url }) =>
      url === "/v1/models" ? anonymousList : url === "/props" ? notThere : undefined,
    );
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const capabilities = { streamUsage: "supported", chatCompletions: "supported" } as const;
    const wishes = { endpoint: llama.url, model: LLAMA_MODEL, capabilities };
    await using _ada = await join(path, hub, code, wishes);
    const events = await hub.watch(code);
    const json = { model: "*", stream: true, messages };
    const stream = async () =>
      (await hub.fetch(`/v1/rooms/${code}/chat/completions`, { json })).text();
    expect(await stream()).not.toContain("timings");
    expect(await stream()).toBe(llamaRecording("chat-stream").body.toString());
    await events.waitFor("both ends", () => events.of("llm.complete").length === 2);
    for (const { data } of events.of("llm.complete")) {
      expect(data).toMatchObject({ metrics: { inputTokens: 30, outputTokens: 4 } });
    }
  });

  test("streams the usage chunk of its own to a client with stream_options", async () => {
    await using llama = await startRecordedLlama();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: llama.url, model: LLAMA_MODEL });
    await untilKnown(hub, code);
    const stream_options = { include_usage: true };
    const json = { model: "*", stream: true, messages, stream_options };
    const answer = await hub.fetch(`/v1/rooms/${code}/chat/completions`, { json });
    expect(await answer.text()).toBe(llamaRecording("chat-stream-usage").body.toString());
  });

  test.each([
    [
      "an image for a model without a projector",
      "image input is not supported",
      {
        messages: [
          {
            role: "user",
            content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }],
          },
        ],
      },
    ],
    ["malformed tools", "Failed to parse tools", { messages, tools: [{ type: "x" }] }],
  ])("responds 500 to %s, which clients get as 400", async (_what, reason, fields) => {
    await using llama = await startRecordedLlama();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: llama.url, model: LLAMA_MODEL });
    const openai = openaiAt(`${hub.url}/rooms/${code}/v1`);
    const asking = openai.chat.completions.create({ model: "*", ...(fields as object) } as never);
    const failure: unknown = await asking.catch((error: unknown) => error);
    if (!(failure instanceof APIError)) throw new Error("no APIError", { cause: failure });
    expect(failure).toMatchObject({ status: 400, type: "invalid_request_error" });
    expect(failure.message).toContain(reason);
    expect(failure.headers?.get("x-should-retry")).toBe("false");
    const posts = llama.asked.filter(({ body }) => body["model"] === LLAMA_MODEL);
    expect(posts).toHaveLength(1);
  });

  test("responds 501 to embeddings without --embeddings: the surface is unsupported from then on", async () => {
    await using llama = await startRecordedLlama();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: llama.url, model: LLAMA_MODEL });
    const embed = () =>
      hub.fetch(`/v1/rooms/${code}/embeddings`, { json: { model: "*", input: "hi" } });
    const first = await embed();
    expect(first.status).toBe(400);
    expect(await first.json()).toMatchObject({
      error: {
        code: "unsupported_protocol",
        stage: "provider",
        message: expect.stringContaining("Start it with `--embeddings`"),
      },
    });
    await until(
      "embeddings to be unsupported",
      () => hub.client.listParticipants(code),
      ([one]) => one?.capabilities.embeddings === "unsupported",
    );
    expect(await (await embed()).json()).toMatchObject({
      error: { code: "unsupported_protocol", stage: "routing" },
    });
    const asked = llama.lines().filter((line) => line === "POST /v1/embeddings");
    expect(asked).toHaveLength(1);
  });

  test("is known at join to have messages and to count input, so no request is spent on finding out", async () => {
    await using llama = await startRecordedLlama();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: llama.url, model: LLAMA_MODEL });
    await until(
      "its capabilities",
      () => hub.client.listParticipants(code),
      ([one]) =>
        one?.capabilities.messages === "supported" &&
        one.capabilities.responsesInputTokens === "supported" &&
        one.capabilities.responsesCompact === "unsupported",
    );
    // Its slots may be read at any time, which is a GET.
    const generations = () => llama.asked.filter(({ method }) => method === "POST").length;
    const before = generations();
    const compact = await hub.fetch(`/v1/rooms/${code}/responses/compact`, {
      json: { model: "*", input: "hi" },
    });
    expect(compact.status).toBe(400);
    expect(await compact.json()).toMatchObject({
      error: { code: "unsupported_protocol", stage: "routing" },
    });
    expect(generations()).toBe(before);
    const counted = await hub.fetch(`/v1/rooms/${code}/responses/input_tokens`, {
      json: { model: "*", input: "hi" },
    });
    expect(await counted.json()).toEqual({ input_tokens: 30 });
  });

  test("streams responses that SDKs can read: translated, or its own on demand", async () => {
    await using llama = await startRecordedLlama();
    await using hub = await startTestHub();
    for (const responses of [undefined, "native", "translated"] as const) {
      const code = await hub.createRoom();
      const config = responses === undefined ? {} : { responses };
      const wishes = { endpoint: llama.url, model: LLAMA_MODEL, config };
      await using _ada = await join(path, hub, code, wishes);
      await untilKnown(hub, code);
      const [listed] = await hub.client.listParticipants(code);
      expect(listed?.config["responses"]).toBe(responses);
      expect(listed?.capabilities.openResponses).toBe("supported");
      const openai = openaiAt(`${hub.url}/rooms/${code}/v1`);
      const asking = openai.responses.stream({ model: "*", input: "hi" }).finalResponse();
      if (responses === "native") {
        // Its deltas name no output_index.
        await expect(asking).rejects.toThrow();
        expect(llama.lines().at(-1)).toBe("POST /v1/responses");
      } else {
        const { output_text: text, usage } = await asking;
        expect(text).toBe("原本 brilliantly资助 тест");
        expect(usage).toMatchObject({ input_tokens: 30, output_tokens: 4 });
        expect(llama.lines().at(-1)).toBe("POST /v1/chat/completions");
      }
      // config.responses itself is sent to no provider.
      expect(llama.asked.at(-1)?.body).not.toHaveProperty("responses");
    }
  });
});

const loadOf = async (hub: TestHub, code: string) =>
  (await hub.client.listParticipants(code))[0]?.load;

describe.each(PATHS)("the slots of llama.cpp over %s", (path) => {
  test("are how many requests it gets at once: the third waits", async () => {
    const released = createGate();
    await using llama = await startRecordedLlama(() => undefined, {
      before: ({ body }) => (body["model"] === LLAMA_MODEL ? released.opened : undefined),
    });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: llama.url, model: LLAMA_MODEL });
    await until(
      "its limit",
      () => loadOf(hub, code),
      (load) => load?.limit === 2 && load.limitFrom === "engine",
    );
    const answers = [1, 2, 3].map(() =>
      hub.fetch(`/v1/rooms/${code}/chat/completions`, { json: { model: "*", messages } }),
    );
    await until(
      "one that waits",
      () => loadOf(hub, code),
      (load) => load?.active === 2 && load.queued === 1,
    );
    released.open();
    for (const answer of answers) expect((await answer).status).toBe(200);
  });

  test("give way to a declared maxConcurrency", async () => {
    await using llama = await startRecordedLlama();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const config = { maxConcurrency: 5 };
    const wishes = { endpoint: llama.url, model: LLAMA_MODEL, config };
    await using _ada = await join(path, hub, code, wishes);
    await untilKnown(hub, code);
    expect(await loadOf(hub, code)).toMatchObject({ limit: 5, limitFrom: "declared" });
  });

  test("that are busy after a cancel are listed until they are free", async () => {
    let busy = 0;
    await using llama = await startRecordedLlama(
      ({ url }) => (url === "/slots" ? slotsWith(busy) : undefined),
      {
        // Like a real one: a request that is not streamed runs to its end.
        before({ body }) {
          if (body["model"] !== LLAMA_MODEL) return undefined;
          busy = 1;
          return new Promise(() => undefined);
        },
      },
    );
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: llama.url, model: LLAMA_MODEL });
    await untilKnown(hub, code);
    await until(
      "its slots",
      () => llama.lines(),
      (lines) => lines.includes("GET /slots"),
    );
    const leaving = new AbortController();
    const asking = hub.fetch(`/v1/rooms/${code}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ model: "*", messages }),
      signal: leaving.signal,
    });
    await until(
      "the request",
      () => busy,
      (count) => count === 1,
    );
    leaving.abort();
    await expect(asking).rejects.toThrow();
    await until(
      "a busy slot without a request",
      () => loadOf(hub, code),
      (load) => load?.active === 0 && load.elsewhere === 1,
    );
    busy = 0;
    await until(
      "free slots",
      () => loadOf(hub, code),
      (load) => load?.elsewhere === undefined,
    );
  });
});

/** Two slots, as recorded, so many of them busy. */
function slotsWith(busy: number): Recording {
  const recording = llamaRecording("slots");
  const slots = JSON.parse(recording.body.toString()) as object[];
  const changed = slots.map((slot, index) => ({ ...slot, is_processing: index < busy }));
  return { ...recording, body: Buffer.from(JSON.stringify(changed)) };
}

test.each([
  "chat-stream-usage",
  "chat-logprobs-stream",
  "chat-stream-timings-per-token",
  "reasoning-chat-stream",
  "tools-chat-stream",
])("a recorded %s becomes responses by the rules of Open Responses", async (name) => {
  await using llama = await startRecordedLlama(({ body }) =>
    body["model"] === LLAMA_MODEL ? llamaRecording(name) : undefined,
  );
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using _ada = await joinDirect(hub, code, { endpoint: llama.url, model: LLAMA_MODEL });
  await untilKnown(hub, code);
  const json = { model: "*", stream: true, input: "hi" };
  const answer = await hub.fetch(`/v1/rooms/${code}/responses`, { json });
  const events: unknown[] = [];
  const reader = createSseReader(({ data }) => {
    events.push(data === "[DONE]" ? data : JSON.parse(data));
  });
  reader.feed(await answer.text());
  expect(checkEvents(events)).toEqual([]);
  expect(events.length).toBeGreaterThan(8);
});

test("PUT changes how the responses of a direct llama.cpp are served", async () => {
  await using llama = await startRecordedLlama();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const wishes = { endpoint: llama.url, model: LLAMA_MODEL };
  const { answer } = await joinDirect(hub, code, wishes);
  await untilKnown(hub, code);
  const respond = async () => {
    await (
      await hub.fetch(`/v1/rooms/${code}/responses`, { json: { model: "*", input: "hi" } })
    ).text();
    return llama.lines().at(-1);
  };
  const put = (config: object | null) =>
    hub.fetch(`/v1/rooms/${code}/participants/ada`, {
      method: "PUT",
      headers: { authorization: `Bearer ${answer.participantToken}` },
      body: JSON.stringify({ config }),
    });
  expect(await respond()).toBe("POST /v1/chat/completions");
  await put({ responses: "native" });
  expect(await respond()).toBe("POST /v1/responses");
  await put(null);
  expect(await respond()).toBe("POST /v1/chat/completions");
  const ignored = await put({ responses: "both" });
  expect(ignored.status).toBe(200);
  expect(await ignored.json()).toMatchObject({ warnings: [{ code: "field_ignored" }] });
});
