import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ANY_KEY, type Target } from "./client.ts";
import { type CompatWorld, SETUPS, startCompatWorld } from "./setups.ts";

const prompt = "What should I wear in Oslo?";

/** What each of them sends a request with; the text of the response. */
const clients: Record<string, (target: Target, model: string) => Promise<string>> = {
  async "openai, chat"({ baseUrl, fetch }, model) {
    const openai = new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch });
    const messages = [{ role: "user" as const, content: prompt }];
    const { choices } = await openai.chat.completions.create({ model, messages });
    return choices[0]?.message.content ?? "";
  },
  async "openai, responses"({ baseUrl, fetch }, model) {
    const openai = new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch });
    return (await openai.responses.create({ model, input: prompt, store: false })).output_text;
  },
  async "@anthropic-ai/sdk, messages"({ roomUrl, fetch }, model) {
    const anthropic = new Anthropic({ baseURL: roomUrl, apiKey: ANY_KEY, fetch });
    const messages = [{ role: "user" as const, content: prompt }];
    const message = await anthropic.messages.create({ model, max_tokens: 1_024, messages });
    return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
  },
};

let world: CompatWorld;
beforeAll(async () => {
  world = await startCompatWorld();
  for (const setup of SETUPS) {
    const { target, provider } = world.room(setup);
    const targets = ["a-model-that-left", `model:${provider.shape.model}`];
    const response = await fetch(`${target.roomUrl}/aliases`, {
      method: "POST",
      body: JSON.stringify({ pattern: "claude-*", targets }),
    });
    expect(response.status).toBe(201);
  }
});
afterAll(() => world[Symbol.asyncDispose]());

describe.each(Object.entries(clients))("%s", (_name, ask) => {
  describe.each(SETUPS)("over $name", (setup) => {
    test("reaches the model under every form of its name, and through an alias", async () => {
      const { target, provider } = world.room(setup);
      const { model, says } = provider.shape;
      const names = [target.model, model, `model:${model}`, "*", "any", "claude-any"];
      for (const name of names) {
        expect([name, await ask(target, name)]).toEqual([name, says.text]);
        expect(provider.asked.at(-1)?.body["model"]).toBe(model);
      }
    });
  });
});
