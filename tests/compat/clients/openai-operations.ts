import { APIError, type OpenAI } from "openai";
import type { Answer, Failure, JsonSchema, Operations, Present, Target } from "../client.ts";

/** The package's two surfaces. Runs in Node and in browsers. */

type Connect = (target: Target) => OpenAI;

export function chatOperations(connect: Connect): Present<Operations> {
  return {
    listModels: (target) => listModels(connect(target)),

    async ask(target, prompt) {
      const completion = await connect(target).chat.completions.create({
        model: target.model,
        messages: [{ role: "user", content: prompt }],
      });
      return { text: textOf(completion), usage: chatUsage(completion.usage) };
    },

    async stream(target, prompt, { onText, signal }) {
      const stream = await connect(target).chat.completions.create(
        {
          model: target.model,
          messages: [{ role: "user", content: prompt }],
          stream: true,
          stream_options: { include_usage: true },
        },
        { signal },
      );
      const answer: Answer = { text: "", usage: undefined };
      for await (const { choices, usage } of stream) {
        const text = choices[0]?.delta.content ?? "";
        if (text !== "") onText(text);
        answer.text += text;
        answer.usage = chatUsage(usage) ?? answer.usage;
      }
      return answer;
    },

    async useTool(target, prompt, { name, description, parameters, run }) {
      const runner = connect(target).chat.completions.runTools({
        model: target.model,
        messages: [{ role: "user", content: prompt }],
        tools: [
          {
            type: "function",
            function: {
              name,
              description,
              parameters: plain(parameters),
              parse: (text: string) => JSON.parse(text) as object,
              function: (input: object) => run(input),
            },
          },
        ],
      });
      return (await runner.finalContent()) ?? "";
    },

    async askForJson(target, prompt, schema) {
      const completion = await connect(target).chat.completions.create({
        model: target.model,
        messages: [{ role: "user", content: prompt }],
        response_format: {
          type: "json_schema",
          json_schema: { name: "weather", schema: plain(schema) },
        },
      });
      return JSON.parse(textOf(completion)) as unknown;
    },

    async askAboutImage(target, prompt, image) {
      const completion = await connect(target).chat.completions.create({
        model: target.model,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: prompt },
              { type: "image_url", image_url: { url: image } },
            ],
          },
        ],
      });
      return textOf(completion);
    },

    fail: (target, model, prompt) =>
      failureOf(
        connect(target).chat.completions.create({
          model,
          messages: [{ role: "user", content: prompt }],
        }),
      ),
  };
}

export function responsesOperations(connect: Connect): Present<Operations> {
  return {
    listModels: (target) => listModels(connect(target)),

    async ask(target, prompt) {
      const response = await connect(target).responses.create({
        model: target.model,
        input: prompt,
      });
      return { text: response.output_text, usage: responsesUsage(response.usage) };
    },

    async stream(target, prompt, { onText, signal }) {
      const stream = await connect(target).responses.create(
        { model: target.model, input: prompt, stream: true },
        { signal },
      );
      const answer: Answer = { text: "", usage: undefined };
      for await (const event of stream) {
        if (event.type === "response.output_text.delta") {
          onText(event.delta);
          answer.text += event.delta;
        } else if (event.type === "response.completed") {
          answer.usage = responsesUsage(event.response.usage);
        }
      }
      return answer;
    },

    async useTool(target, prompt, { name, description, parameters, run }) {
      const openai = connect(target);
      const tools = [
        {
          type: "function" as const,
          name,
          description,
          parameters: plain(parameters),
          strict: true,
        },
      ];
      const asked = [{ role: "user" as const, content: prompt }];
      const first = await openai.responses.create({ model: target.model, input: asked, tools });
      const results: OpenAI.Responses.ResponseInputItem[] = [];
      for (const item of first.output) {
        if (item.type !== "function_call") continue;
        const output = await run(JSON.parse(item.arguments));
        results.push({ type: "function_call_output", call_id: item.call_id, output });
      }
      // Everything is sent back, reasoning too, as its documentation describes.
      const input = [...asked, ...first.output, ...results] as OpenAI.Responses.ResponseInput;
      const second = await openai.responses.create({ model: target.model, input, tools });
      return second.output_text;
    },

    async askForJson(target, prompt, schema) {
      const response = await connect(target).responses.create({
        model: target.model,
        input: prompt,
        text: { format: { type: "json_schema", name: "weather", schema: plain(schema) } },
      });
      return JSON.parse(response.output_text) as unknown;
    },

    async askAboutImage(target, prompt, image) {
      const response = await connect(target).responses.create({
        model: target.model,
        input: [
          {
            role: "user",
            content: [
              { type: "input_text", text: prompt },
              { type: "input_image", image_url: image, detail: "auto" },
            ],
          },
        ],
      });
      return response.output_text;
    },

    fail: (target, model, prompt) =>
      failureOf(connect(target).responses.create({ model, input: prompt })),
  };
}

/** What applications read of this package's errors, which others wrap into their own. */
export async function failureOf(asking: Promise<unknown>): Promise<Failure> {
  const thrown = await asking.then(
    () => undefined,
    (error: unknown) => error,
  );
  const error = thrown instanceof Error && thrown.cause instanceof APIError ? thrown.cause : thrown;
  if (!(error instanceof APIError)) throw new Error("no APIError", { cause: thrown });
  return { status: error.status, code: error.code ?? undefined, message: error.message };
}

/** An interface has no index signature, which the package's types require. */
function plain(schema: JsonSchema): Record<string, unknown> {
  return { ...schema };
}

async function listModels(openai: OpenAI): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of openai.models.list()) ids.push(id);
  return ids;
}

function textOf({ choices }: OpenAI.ChatCompletion): string {
  return choices[0]?.message.content ?? "";
}

function chatUsage(usage: OpenAI.CompletionUsage | null | undefined): Answer["usage"] {
  if (usage === null || usage === undefined) return undefined;
  return { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens };
}

function responsesUsage(usage: OpenAI.Responses.ResponseUsage | null | undefined): Answer["usage"] {
  if (usage === null || usage === undefined) return undefined;
  return { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens };
}
