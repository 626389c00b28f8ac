import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { ANY_KEY, type Answer, lacking, type Target } from "../client.ts";
import { describeClient } from "../describe-client.ts";
import { SCRIPT } from "../providers/script.ts";
import { SETUPS, startCompatWorld } from "../setups.ts";

const maxTokens = 1024;
const translatedSetups = SETUPS.filter(({ shape }) => !shape.surfaces.includes("messages"));

describeClient({
  name: "@anthropic-ai/sdk, messages",
  speaks: "messages",
  does: {
    async listModels(target) {
      const ids: string[] = [];
      for await (const { id } of connect(target).models.list()) ids.push(id);
      return ids;
    },

    async ask(target, prompt) {
      const message = await connect(target).messages.create({
        model: target.model,
        max_tokens: maxTokens,
        messages: [{ role: "user", content: prompt }],
      });
      return { text: textOf(message), usage: usageOf(message) };
    },

    async stream(target, prompt, { onText, signal }) {
      const stream = connect(target).messages.stream(
        {
          model: target.model,
          max_tokens: maxTokens,
          messages: [{ role: "user", content: prompt }],
        },
        { signal },
      );
      stream.on("text", onText);
      const message = await stream.finalMessage();
      return { text: textOf(message), usage: usageOf(message) };
    },

    async useTool(target, prompt, { name, description, parameters, run }) {
      const runner = connect(target).beta.messages.toolRunner({
        model: target.model,
        max_tokens: maxTokens,
        messages: [{ role: "user", content: prompt }],
        tools: [
          { name, description, input_schema: { ...parameters }, run, parse: (input) => input },
        ],
      });
      return textOf(await runner.runUntilDone());
    },

    askForJson: lacking("no model server serves JSON schemas on `/messages`"),

    async askAboutImage(target, prompt, image) {
      const message = await connect(target).messages.create({
        model: target.model,
        max_tokens: maxTokens,
        messages: [
          {
            role: "user",
            content: [
              {
                type: "image",
                source: {
                  type: "base64",
                  media_type: "image/png",
                  data: image.replace("data:image/png;base64,", ""),
                },
              },
              { type: "text", text: prompt },
            ],
          },
        ],
      });
      return textOf(message);
    },

    async fail(target, model, prompt) {
      const error: unknown = await connect(target)
        .messages.create({
          model,
          max_tokens: maxTokens,
          messages: [{ role: "user", content: prompt }],
        })
        .catch((thrown: unknown) => thrown);
      if (!(error instanceof APIError)) throw new Error("no APIError", { cause: error });
      const { status, type, message } = error as APIError<number>;
      return { status, code: type ?? undefined, message };
    },
  },
});

test("@anthropic-ai/sdk counts a prompt's tokens, and reads the hub's error in Anthropic's shape", async () => {
  await using world = await startCompatWorld();
  for (const setup of SETUPS.filter(({ isTranslated }) => !isTranslated)) {
    const { target } = world.room(setup);
    const anthropic = connect(target);
    const messages = [{ role: "user" as const, content: "What should I wear in Oslo?" }];
    const counted = await anthropic.messages.countTokens({ model: target.model, messages });
    expect(counted.input_tokens).toBe(SCRIPT.usage.inputTokens);
    const asking = anthropic.messages.countTokens({ model: "nobody-has-this", messages });
    await expect(asking).rejects.toMatchObject({
      status: 404,
      error: { type: "error", error: { type: "not_found_error" } },
    });
  }
});

test("@anthropic-ai/sdk gets an estimate where the server counts no tokens, marked as one", async () => {
  await using world = await startCompatWorld();
  for (const setup of translatedSetups) {
    const { target, provider } = world.room(setup);
    const { data, response } = await connect(target)
      .messages.countTokens({
        model: target.model,
        messages: [{ role: "user", content: "What should I wear in Oslo?" }],
      })
      .withResponse();
    expect(data.input_tokens).toBeGreaterThan(5);
    expect(response.headers.get("x-roomhub-token-count")).toBe("estimate");
    expect(provider.asked.filter(({ surface }) => surface === "chat/completions")).toEqual([]);
  }
});

test("@anthropic-ai/sdk streams thinking and a tool call out of chat, and its history is taken back", async () => {
  await using world = await startCompatWorld();
  for (const setup of translatedSetups) {
    const { target, provider } = world.room(setup);
    const { thought, toolCall, text } = setup.shape.says;
    const anthropic = connect(target);
    const question = { role: "user" as const, content: "What should I wear in Oslo?" };
    const tool = {
      name: "weather",
      input_schema: { type: "object" as const, properties: { city: { type: "string" } } },
    };
    const asked = {
      model: target.model,
      max_tokens: 2 * maxTokens,
      thinking: { type: "enabled" as const, budget_tokens: maxTokens },
    };
    const spoken = await anthropic.messages
      .stream({ ...asked, messages: [question] })
      .finalMessage();
    expect(spoken.content).toEqual([
      { type: "thinking", thinking: thought, signature: expect.stringMatching(/./) },
      { type: "text", text },
    ]);
    const turn = { role: "assistant" as const, content: spoken.content };
    const called = await anthropic.messages
      .stream({ ...asked, messages: [question, turn, question], tools: [tool] })
      .finalMessage();
    expect(called.stop_reason).toBe("tool_use");
    expect(called.content).toContainEqual({
      type: "tool_use",
      id: expect.stringMatching(/^[\w-]+$/),
      name: toolCall.name,
      input: toolCall.arguments,
    });
    expect(JSON.stringify(provider.asked.at(-1)?.body["messages"])).toContain(thought);
  }
});

test("@anthropic-ai/sdk gets JSON of the requested schema out of chat", async () => {
  await using world = await startCompatWorld();
  for (const setup of translatedSetups) {
    const { target } = world.room(setup);
    const schema = {
      type: "object",
      properties: { city: { type: "string" }, celsius: { type: "number" } },
      required: ["city", "celsius"],
      additionalProperties: false,
    };
    const message = await connect(target).messages.create({
      model: target.model,
      max_tokens: maxTokens,
      messages: [{ role: "user", content: "What should I wear in Oslo?" }],
      output_config: { format: { type: "json_schema", schema } },
    });
    expect(JSON.parse(textOf(message))).toEqual(setup.shape.says.structured);
  }
});

/** It adds `/v1` itself. */
function connect({ roomUrl, fetch }: Target): Anthropic {
  return new Anthropic({ baseURL: roomUrl, apiKey: ANY_KEY, fetch });
}

function textOf({ content }: { content: readonly { type: string; text?: unknown }[] }): string {
  return content.map(({ type, text }) => (type === "text" ? String(text) : "")).join("");
}

function usageOf({ usage }: Anthropic.Message): Answer["usage"] {
  return { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens };
}
