import { HumanMessage, ToolMessage, type AIMessageChunk } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { ANY_KEY, type Answer, lacking, type Operations, type Target } from "../client.ts";
import { describeClient } from "../describe-client.ts";
import { failureOf } from "./openai-operations.ts";

describeClient({ name: "@langchain/openai, chat", speaks: "chat", does: operations(false) });

describeClient({
  name: "@langchain/openai, responses",
  speaks: "responses",
  does: operations(true),
});

function operations(useResponsesApi: boolean): Operations {
  function modelAt({ baseUrl, fetch }: Target, model: string): ChatOpenAI {
    return new ChatOpenAI({
      model,
      apiKey: ANY_KEY,
      useResponsesApi,
      configuration: { baseURL: baseUrl, fetch },
    });
  }

  return {
    listModels: lacking("LangChain lists no models"),

    async ask(target, prompt) {
      const answer = await modelAt(target, target.model).invoke(prompt);
      return { text: answer.text, usage: usageOf(answer) };
    },

    async stream(target, prompt, { onText, signal }) {
      const stream = await modelAt(target, target.model).stream(prompt, { signal });
      const answer: Answer = { text: "", usage: undefined };
      for await (const chunk of stream) {
        if (chunk.text !== "") onText(chunk.text);
        answer.text += chunk.text;
        answer.usage = usageOf(chunk) ?? answer.usage;
      }
      return answer;
    },

    async useTool(target, prompt, { name, description, parameters, run }) {
      const offered = tool((input: unknown) => run(input), {
        name,
        description,
        schema: parameters,
      });
      const model = modelAt(target, target.model).bindTools([offered]);
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

    fail: (target, model, prompt) => failureOf(modelAt(target, model).invoke(prompt)),
  };
}

function usageOf({ usage_metadata: usage }: Pick<AIMessageChunk, "usage_metadata">) {
  if (usage === undefined) return undefined;
  return { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens };
}
