import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, type ModelMessage } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ANY_KEY } from "./client.ts";
import { SCRIPT } from "./providers/script.ts";
import { type CompatWorld, SETUPS, startCompatWorld } from "./setups.ts";

/** What an application sends back of a first response, where responses are made from a chat with reasoning. */

const translated = SETUPS.filter(({ isTranslated }) => isTranslated);
const question = "What should I wear in Oslo?";
let world: CompatWorld;
beforeAll(async () => void (world = await startCompatWorld()));
afterAll(() => world[Symbol.asyncDispose]());

test.each(translated)(
  "thoughts go back under the provider's own name, over $name",
  async (setup) => {
    const room = world.room(setup);
    const { baseUrl, fetch, model } = room.target;
    const openai = new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch });
    const first = await openai.responses.create({ model, input: question });
    await openai.responses.create({
      model,
      input: [
        { role: "user", content: question },
        ...(first.output as OpenAI.Responses.ResponseInput),
        { role: "user", content: "And tomorrow?" },
      ],
    });
    const { thoughtField = "none" } = room.provider.shape;
    expect(room.provider.asked.at(-1)?.body["messages"]).toEqual([
      { role: "user", content: question },
      { role: "assistant", content: SCRIPT.text, [thoughtField]: SCRIPT.thought },
      { role: "user", content: "And tomorrow?" },
    ]);
  },
);

test.each(translated)(
  "the AI SDK refers to items unless it is told not to store, over $name",
  async (setup) => {
    const { baseUrl, fetch, model: name } = world.room(setup).target;
    const model = createOpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch }).responses(name);
    const asked: ModelMessage = { role: "user", content: question };
    const first = await generateText({ model, messages: [asked] });
    const messages = [asked, ...first.response.messages, asked];
    const failure: unknown = await generateText({ model, messages }).catch(
      (thrown: unknown) => thrown,
    );
    if (!APICallError.isInstance(failure)) throw new Error("no APICallError", { cause: failure });
    expect(failure.statusCode).toBe(400);
    expect(failure.message).toContain("Send the items themselves: store: false.");
    const remedy = { openai: { store: false } };
    const { text } = await generateText({ model, messages, providerOptions: remedy });
    expect(text).toBe(SCRIPT.text);
  },
);

test.each(translated)(
  "@ai-sdk/open-responses sends the items themselves, over $name",
  async (setup) => {
    const { baseUrl, fetch, model: name } = world.room(setup).target;
    const model = createOpenResponses({ name: "room", url: `${baseUrl}/responses`, fetch })(name);
    const asked: ModelMessage = { role: "user", content: question };
    const first = await generateText({ model, messages: [asked] });
    const messages = [asked, ...first.response.messages, asked];
    expect((await generateText({ model, messages })).text).toBe(SCRIPT.text);
  },
);
