import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { ANY_KEY } from "./client.ts";
import { startReplayServer } from "./providers/replay-server.ts";
import { SCRIPT } from "./providers/script.ts";
import { llamaServer } from "./providers/shapes.ts";
import { atHub, openRoom, type SetupRoom } from "./setups.ts";

/** How SDKs handle a real llama-server's own `/responses`, and the translation instead. */

const question = "What should I wear in Oslo?";
const stack = new AsyncDisposableStack();
const rooms = {} as { native: SetupRoom; translated: SetupRoom };
beforeAll(async () => {
  const hub = stack.use(await startTestHub());
  for (const responses of ["native", "translated"] as const) {
    const provider = stack.use(await startReplayServer(llamaServer));
    const way = { path: "direct", isTranslated: responses === "translated" } as const;
    rooms[responses] = await openRoom(hub, atHub(hub.url), way, provider, stack, { responses });
  }
});
afterAll(() => stack.disposeAsync());

const uses: Record<string, (room: SetupRoom) => Promise<string>> = {
  "openai.responses.stream()": async ({ target }) => {
    const { baseUrl: baseURL, fetch, model } = target;
    const openai = new OpenAI({ baseURL, apiKey: ANY_KEY, fetch });
    const stream = openai.responses.stream({ model, input: question });
    return (await stream.finalResponse()).output_text;
  },
  "@ai-sdk/openai, a stream": async (room) => {
    let failure: unknown;
    const onError = ({ error }: { error: unknown }) => void (failure = error);
    const result = streamText({ model: aiModel(room), prompt: question, onError });
    const text = await Promise.resolve(result.text).catch((error: unknown) => {
      throw failure ?? error;
    });
    if (failure !== undefined) throw failure;
    return text;
  },
};

describe.each(Object.entries(uses))("%s", (_name, use) => {
  test("fails on llama.cpp's own responses", async () => {
    expect(await use(rooms.native).catch(() => "failed")).not.toBe(SCRIPT.text);
    expect(rooms.native.provider.asked.at(-1)?.surface).toBe("responses");
  });

  test("works on the translated ones", async () => {
    expect(await use(rooms.translated)).toBe(SCRIPT.text);
    expect(rooms.translated.provider.asked.at(-1)?.surface).toBe("chat/completions");
    rooms.translated.checkAnswers();
  });
});

test("a JSON schema reaches the model where responses are translated", async () => {
  const format = {
    type: "json_schema" as const,
    name: "weather",
    schema: { type: "object", properties: { city: { type: "string" } } },
  };
  const ask = ({ target: { baseUrl, fetch, model } }: SetupRoom) => {
    const openai = new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch });
    return openai.responses.create({ model, input: question, text: { format } });
  };
  const { output_text: text } = await ask(rooms.translated);
  expect(JSON.parse(text)).toEqual(SCRIPT.structured);
  const asked = rooms.translated.provider.asked.at(-1)?.body["response_format"];
  expect(asked).toMatchObject({ type: "json_schema" });
});

function aiModel({ target: { baseUrl, fetch, model } }: SetupRoom) {
  return createOpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch }).responses(model);
}

test("a JSON response is the same either way", async () => {
  for (const room of [rooms.native, rooms.translated]) {
    expect((await generateText({ model: aiModel(room), prompt: question })).text).toBe(SCRIPT.text);
  }
});
