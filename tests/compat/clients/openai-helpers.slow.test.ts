import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { ANY_KEY } from "../client.ts";
import { SCRIPT } from "../providers/script.ts";
import { type CompatWorld, SETUPS, startCompatWorld } from "../setups.ts";

const question = "What should I wear in Oslo?";
const messages = [{ role: "user" as const, content: question }];
const Weather = z.object({ city: z.string(), celsius: z.number() });

let world: CompatWorld;
beforeAll(async () => {
  world = await startCompatWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

describe.each(SETUPS)("openai's helpers over $name", (setup) => {
  function connect() {
    const { target, provider, checkAnswers } = world.room(setup);
    const openai = new OpenAI({ baseURL: target.baseUrl, apiKey: ANY_KEY, fetch: target.fetch });
    return { openai, model: target.model, provider, checkAnswers };
  }

  test("chat.completions.stream() emits every piece and joins them", async () => {
    const { openai, model, provider } = connect();
    const stream = openai.chat.completions.stream({ model, messages });
    const snapshots: string[] = [];
    stream.on("content", (_delta, snapshot) => snapshots.push(snapshot));
    expect(await stream.finalContent()).toBe(SCRIPT.text);
    expect(snapshots[0]).toBe(provider.shape.says.firstWords);
    expect(snapshots.at(-1)).toBe(SCRIPT.text);
  });

  test("responses.stream() knows every event, in order, and joins them", async () => {
    const { openai, model, checkAnswers } = connect();
    const stream = openai.responses.stream({ model, input: question });
    const numbers: number[] = [];
    for await (const event of stream) numbers.push(event.sequence_number);
    expect(numbers).toEqual(numbers.map((_number, index) => index));
    expect((await stream.finalResponse()).output_text).toBe(SCRIPT.text);
    checkAnswers();
  });

  test("parse() makes objects of a zod schema on both surfaces", async () => {
    const { openai, model } = connect();
    const completion = await openai.chat.completions.parse({
      model,
      messages,
      response_format: zodResponseFormat(Weather, "weather"),
    });
    expect(completion.choices[0]?.message.parsed).toEqual(SCRIPT.structured);
    const response = await openai.responses.parse({
      model,
      input: question,
      text: { format: zodTextFormat(Weather, "weather") },
    });
    expect(response.output_parsed).toEqual(SCRIPT.structured);
  });

  test("the package itself retries a provider that is busy for a moment", async () => {
    const { openai, model, provider } = connect();
    const before = provider.asked.length;
    const { output_text: text } = await openai.responses.create({
      model,
      input: provider.busyOnce(),
    });
    expect(text).toBe(SCRIPT.text);
    expect(provider.asked.length).toBe(before + 2);
  });

  test("asResponse() has the hub's headers", async () => {
    const { openai, model, provider } = connect();
    const { headers } = await openai.chat.completions.create({ model, messages }).asResponse();
    expect(headers.get("x-roomhub-participant")).toBe(model);
    expect(headers.get("x-roomhub-model")).toBe(provider.shape.model);
  });
});
