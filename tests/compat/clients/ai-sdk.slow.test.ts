import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenResponses } from "@ai-sdk/open-responses";
import {
  APICallError,
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  type LanguageModelUsage,
  Output,
  streamText,
  tool,
} from "ai";
import { ANY_KEY, type Answer, lacking, type Operations, type Target } from "../client.ts";
import { describeClient } from "../describe-client.ts";

describeClient({
  name: "ai, @ai-sdk/openai, responses",
  speaks: "responses",
  does: operations((target, model) => openai(target).responses(model)),
});

describeClient({
  name: "ai, @ai-sdk/openai, chat",
  speaks: "chat",
  does: operations((target, model) => openai(target).chat(model)),
});

describeClient({
  name: "ai, @ai-sdk/openai-compatible",
  speaks: "chat",
  does: operations(({ baseUrl, fetch }, model) =>
    createOpenAICompatible({
      name: "room",
      baseURL: baseUrl,
      fetch,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })(model),
  ),
});

describeClient({
  name: "ai, @ai-sdk/open-responses",
  speaks: "responses",
  does: operations(({ baseUrl, fetch }, model) =>
    createOpenResponses({ name: "room", url: `${baseUrl}/responses`, fetch })(model),
  ),
});

describeClient({
  name: "ai, @ai-sdk/anthropic",
  speaks: "messages",
  does: {
    ...operations(({ baseUrl, fetch }, model) =>
      createAnthropic({ baseURL: baseUrl, apiKey: ANY_KEY, fetch })(model),
    ),
    askForJson: lacking("no model server serves JSON schemas on `/messages`"),
  },
});

function openai({ baseUrl, fetch }: Target) {
  return createOpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch });
}

function operations(modelAt: (target: Target, model: string) => LanguageModel): Operations {
  return {
    listModels: lacking("the AI SDK lists no models"),

    async ask(target, prompt) {
      const { text, usage } = await generateText({ model: modelAt(target, target.model), prompt });
      return { text, usage: usageOf(usage) };
    },

    async stream(target, prompt, { onText, signal }) {
      const model = modelAt(target, target.model);
      const result = streamText({ model, prompt, abortSignal: signal, onError: () => undefined });
      let text = "";
      for await (const piece of result.textStream) {
        onText(piece);
        text += piece;
      }
      return { text, usage: usageOf(await result.usage) };
    },

    async useTool(target, prompt, { name, description, parameters, run }) {
      const offered = tool({
        description,
        inputSchema: jsonSchema<object>(parameters),
        execute: (input) => run(input),
      });
      const { text } = await generateText({
        model: modelAt(target, target.model),
        prompt,
        tools: { [name]: offered },
        stopWhen: isStepCount(3),
      });
      return text;
    },

    async askForJson(target, prompt, schema) {
      const { output } = await generateText({
        model: modelAt(target, target.model),
        prompt,
        output: Output.object({ schema: jsonSchema<object>(schema) }),
      });
      return output;
    },

    async askAboutImage(target, prompt, image) {
      const { text } = await generateText({
        model: modelAt(target, target.model),
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: prompt },
              { type: "image", image },
            ],
          },
        ],
      });
      return text;
    },

    async fail(target, model, prompt) {
      const error: unknown = await generateText({ model: modelAt(target, model), prompt }).catch(
        (thrown: unknown) => thrown,
      );
      if (!APICallError.isInstance(error)) throw new Error("no APICallError", { cause: error });
      // The message may be no more than "Bad Request": one of them reads no error whose code is a number.
      const { statusCode, message, responseBody = "{}" } = error;
      const { error: body } = JSON.parse(responseBody) as { error?: { code?: string } };
      return { status: statusCode, code: body?.code, message: `${message} ${responseBody}` };
    },
  };
}

function usageOf({ inputTokens, outputTokens }: LanguageModelUsage): Answer["usage"] {
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  return { inputTokens, outputTokens };
}
