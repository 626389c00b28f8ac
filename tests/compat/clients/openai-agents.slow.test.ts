import {
  Agent,
  OpenAIProvider,
  type OpenAIProviderOptions,
  Runner,
  type Tool as AgentTool,
  tool,
  type Usage,
} from "@openai/agents";
import OpenAI from "openai";
import { ANY_KEY, lacking, type Operations, type Target } from "../client.ts";
import { describeClient } from "../describe-client.ts";
import { failureOf } from "./openai-operations.ts";

describeClient({
  name: "@openai/agents, chat",
  speaks: "chat",
  does: operations({ useResponses: false }),
});

describeClient({
  name: "@openai/agents, responses",
  speaks: "responses",
  does: operations({ useResponses: true }),
});

describeClient({
  name: "@openai/agents, responses over WebSocket",
  speaks: "responses",
  does: {
    ...operations({ useResponses: true, useResponsesWebSocket: true }),
    fail: lacking("on a socket it tells the application no more than that the turn failed"),
  },
});

function operations(options: OpenAIProviderOptions): Operations {
  function runnerAt({ baseUrl, fetch }: Target): Runner {
    const openAIClient = new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch });
    const modelProvider = new OpenAIProvider({ openAIClient, ...options });
    return new Runner({ modelProvider, tracingDisabled: true });
  }

  function agent(model: string, tools: AgentTool[] = []): Agent {
    return new Agent({ name: "helper", instructions: "Be brief.", model, tools });
  }

  return {
    listModels: lacking("the agents SDK lists no models"),

    async ask(target, prompt) {
      const result = await runnerAt(target).run(agent(target.model), prompt);
      return { text: result.finalOutput ?? "", usage: usageOf(result.runContext.usage) };
    },

    async stream(target, prompt, { onText, signal }) {
      const options = { stream: true, signal } as const;
      const result = await runnerAt(target).run(agent(target.model), prompt, options);
      let text = "";
      for await (const piece of result.toTextStream()) {
        onText(piece);
        text += piece;
      }
      await result.completed;
      return { text, usage: usageOf(result.runContext.usage) };
    },

    async useTool(target, prompt, { name, description, parameters, run }) {
      const offered = tool({
        name,
        description,
        parameters: { ...parameters, additionalProperties: false },
        execute: (input: unknown) => run(input),
      });
      const result = await runnerAt(target).run(agent(target.model, [offered]), prompt);
      return result.finalOutput ?? "";
    },

    async askForJson(target, prompt, schema) {
      const shaped = new Agent({
        name: "helper",
        model: target.model,
        outputType: {
          type: "json_schema",
          name: "weather",
          strict: true,
          schema: { ...schema, additionalProperties: false },
        },
      });
      return (await runnerAt(target).run(shaped, prompt)).finalOutput;
    },

    async askAboutImage(target, prompt, image) {
      const result = await runnerAt(target).run(agent(target.model), [
        {
          role: "user",
          content: [
            { type: "input_text", text: prompt },
            { type: "input_image", image },
          ],
        },
      ]);
      return result.finalOutput ?? "";
    },

    fail: (target, model, prompt) => failureOf(runnerAt(target).run(agent(model), prompt)),
  };
}

function usageOf({ inputTokens, outputTokens }: Usage) {
  return { inputTokens, outputTokens };
}
