import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { HumanMessage, ToolMessage, type AIMessageChunk } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { concat } from "@langchain/core/utils/stream";
import { ChatOpenAI } from "@langchain/openai";
import { ANY_KEY, type Failure, lacking, type Operations, type Target } from "../client.ts";
import { describeClient } from "../describe-client.ts";
import { failureOf } from "./openai-operations.ts";

describeClient({
  name: "@langchain/openai, chat",
  speaks: "chat",
  does: operations(openai(false), failureOf),
});

describeClient({
  name: "@langchain/openai, responses",
  speaks: "responses",
  does: operations(openai(true), failureOf),
});

describeClient({
  name: "@langchain/anthropic",
  speaks: "messages",
  does: {
    ...operations(anthropic, anthropicFailureOf),
    askForJson: lacking("no model server serves JSON schemas on `/messages`"),
  },
  cannot: (column, shape) =>
    column === "usage" && !shape.surfaces.includes("messages")
      ? "it reads a stream's input tokens from `message_start`, where a translated stream does not know them yet"
      : undefined,
});

type ModelAt = (target: Target, model: string) => BaseChatModel;

function openai(useResponsesApi: boolean): ModelAt {
  return ({ baseUrl, fetch }, model) =>
    new ChatOpenAI({
      model,
      apiKey: ANY_KEY,
      useResponsesApi,
      configuration: { baseURL: baseUrl, fetch },
    });
}

function anthropic({ roomUrl, fetch }: Target, model: string): BaseChatModel {
  return new ChatAnthropic({
    model,
    apiKey: ANY_KEY,
    anthropicApiUrl: roomUrl,
    clientOptions: { fetch },
  });
}

/** It has a copy of Anthropic's package of its own, so the class of its errors is another. */
async function anthropicFailureOf(asking: Promise<unknown>): Promise<Failure> {
  const thrown = await asking.then(
    () => undefined,
    (error: unknown) => error,
  );
  const failure = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  if (!(failure instanceof Error) || !("status" in failure)) {
    throw new Error("no APIError", { cause: thrown });
  }
  const { status, message, error } = failure as Error & {
    status: number;
    error?: { error?: { type?: string } };
  };
  return { status, code: error?.error?.type, message };
}

function operations(
  modelAt: ModelAt,
  failure: (asking: Promise<unknown>) => Promise<Failure>,
): Operations {
  return {
    listModels: lacking("LangChain lists no models"),

    async ask(target, prompt) {
      const answer = await modelAt(target, target.model).invoke(prompt);
      return { text: answer.text, usage: usageOf(answer) };
    },

    async stream(target, prompt, { onText, signal }) {
      const stream = await modelAt(target, target.model).stream(prompt, { signal });
      let answer: AIMessageChunk | undefined;
      for await (const chunk of stream) {
        if (chunk.text !== "") onText(chunk.text);
        answer = answer === undefined ? chunk : concat(answer, chunk);
      }
      return { text: answer?.text ?? "", usage: answer && usageOf(answer) };
    },

    async useTool(target, prompt, { name, description, parameters, run }) {
      const offered = tool((input: unknown) => run(input), {
        name,
        description,
        schema: parameters,
      });
      const model = modelAt(target, target.model).bindTools?.([offered]);
      if (model === undefined) throw new Error("it takes no tools");
      const asked = new HumanMessage(prompt);
      const first = await model.invoke([asked]);
      const results: ToolMessage[] = [];
      for (const { id = "", args } of first.tool_calls ?? []) {
        const content = await offered.invoke(args);
        results.push(new ToolMessage({ tool_call_id: id, content }));
      }
      return (await model.invoke([asked, first, ...results])).text;
    },

    async askForJson(target, prompt, schema) {
      const model = modelAt(target, target.model);
      const shaped = model.withStructuredOutput(
        { title: "weather", ...schema },
        { method: "jsonSchema" },
      );
      return await shaped.invoke(prompt);
    },

    async askAboutImage(target, prompt, image) {
      const message = new HumanMessage({
        content: [
          { type: "text", text: prompt },
          { type: "image_url", image_url: { url: image } },
        ],
      });
      return (await modelAt(target, target.model).invoke([message])).text;
    },

    fail: (target, model, prompt) => failure(modelAt(target, model).invoke(prompt)),
  };
}

function usageOf({ usage_metadata: usage }: Pick<AIMessageChunk, "usage_metadata">) {
  if (usage === undefined) return undefined;
  return { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens };
}
