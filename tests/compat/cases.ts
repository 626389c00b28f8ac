import { expect } from "vitest";
import type { JsonSchema, Operations, Present, Target, Tool } from "./client.ts";
import type { Asked, ReplayServer } from "./providers/replay-server.ts";
import { REFUSAL_WORD, REFUSED_PROMPT } from "./providers/script.ts";

/** Something applications do, and the result it must have with every client. */
export interface Case {
  /** column of the table */
  column: string;
  /** sentence about the client */
  title: string;
  needs: readonly (keyof Operations)[];
  run: (does: Present<Operations>, target: Target, provider: ReplayServer) => Promise<void>;
}

const question = "What should I wear in Oslo?";
const neverAborted = new AbortController().signal;
/** one red dot */
const image =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const citySchema = objectOf({ city: { type: "string" } });
const weatherSchema = objectOf({
  city: { type: "string" },
  celsius: { type: "number" },
});

export const CASES: readonly Case[] = [
  {
    column: "models",
    title: "lists the room's participants as models",
    needs: ["listModels"],
    async run(does, target) {
      expect(await does.listModels(target)).toEqual([target.model]);
    },
  },
  {
    column: "response",
    title: "gets a response of the participant's own model",
    needs: ["ask"],
    async run(does, target, provider) {
      expect((await does.ask(target, question)).text).toBe(provider.shape.says.text);
      expect(lastAsked(provider).body["model"]).toBe(provider.shape.model);
    },
  },
  {
    column: "stream",
    title: "has the first words of a stream before the provider has generated the last",
    needs: ["stream"],
    async run(does, target, provider) {
      const held = provider.hold();
      const heard: string[] = [];
      const onText = (text: string) => {
        heard.push(text);
        held.release();
      };
      const { text } = await does.stream(target, held.prompt, { onText, signal: neverAborted });
      expect(heard[0]).toBe(provider.shape.says.firstWords);
      expect(text).toBe(provider.shape.says.text);
    },
  },
  {
    column: "abort",
    title: "ends the provider's generation by aborting its stream",
    needs: ["stream"],
    async run(does, target, provider) {
      const held = provider.hold();
      const leaving = new AbortController();
      const listener = { onText: () => leaving.abort(), signal: leaving.signal };
      // Some clients throw when they are aborted, some just end.
      await does.stream(target, held.prompt, listener).catch(() => undefined);
      await held.aborted();
    },
  },
  {
    column: "tools",
    title: "runs a tool and continues with its result",
    needs: ["useTool"],
    async run(does, target, provider) {
      const calls: unknown[] = [];
      const weather: Tool = {
        name: "weather",
        description: "Tells the weather of a city.",
        parameters: citySchema,
        run(input) {
          calls.push(input);
          return "light rain";
        },
      };
      expect(await does.useTool(target, question, weather)).toBe(provider.shape.says.text);
      expect(calls).toEqual([provider.shape.says.toolCall.arguments]);
      expect(JSON.stringify(lastAsked(provider).body)).toContain("light rain");
    },
  },
  {
    column: "JSON",
    title: "gets JSON of the requested schema",
    needs: ["askForJson"],
    async run(does, target, provider) {
      expect(await does.askForJson(target, question, weatherSchema)).toEqual(
        provider.shape.says.structured,
      );
      expect(JSON.stringify(lastAsked(provider).body)).toContain('"celsius"');
    },
  },
  {
    column: "image",
    title: "shows an image to the model",
    needs: ["askAboutImage"],
    async run(does, target, provider) {
      expect(await does.askAboutImage(target, question, image)).toBe(provider.shape.says.text);
      const [, base64] = image.split(",");
      expect(JSON.stringify(lastAsked(provider).body)).toContain(base64);
    },
  },
  {
    column: "usage",
    title: "gets the token counts of a JSON response and of a stream",
    needs: ["ask", "stream"],
    async run(does, target, provider) {
      expect((await does.ask(target, question)).usage).toEqual(provider.shape.says.usage);
      const listener = { onText: () => undefined, signal: neverAborted };
      const streamed = await does.stream(target, question, listener);
      expect(streamed.usage).toEqual(provider.shape.says.usage);
    },
  },
  {
    column: "unknown model",
    title: "throws the hub's 404 for a model that no participant serves, after one attempt",
    needs: ["fail"],
    async run(does, target, provider) {
      const before = provider.asked.length;
      const failure = await does.fail(target, "nobody-has-this", question);
      expect(failure).toMatchObject({ status: 404, code: expect.stringMatching(notFound) });
      expect(failure.message).toContain("nobody-has-this");
      expect(provider.asked.length).toBe(before);
    },
  },
  {
    column: "refusal",
    title: "throws the provider's own 400, after one attempt",
    needs: ["fail"],
    async run(does, target, provider) {
      const before = provider.asked.length;
      const failure = await does.fail(target, target.model, REFUSED_PROMPT);
      expect(failure.status).toBe(400);
      expect(failure.message).toContain(REFUSAL_WORD);
      expect(provider.asked.length).toBe(before + 1);
    },
  },
];

/** OpenAI's clients expose the code, Anthropic's the type. */
const notFound = /^(?:model_not_found|not_found_error)$/;

function lastAsked(provider: ReplayServer): Asked {
  const asked = provider.asked.at(-1);
  if (asked === undefined) throw new Error("the provider was not asked");
  return asked;
}

function objectOf(properties: JsonSchema["properties"]): JsonSchema {
  return {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}
