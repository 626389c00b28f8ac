import { isObject, type JsonObject, type MeasuredFeatures, parseObject } from "@roomhub/protocol";
import type { CanaryName, CanaryVerdict } from "@roomhub/room-state";

/** A request that shows whether a model can do one thing behind its model server. */
interface Canary {
  fields: JsonObject;
  /** @param message - of the response */
  holds: (message: JsonObject) => boolean;
}

/** What came of a canary. */
export interface CanaryOutcome {
  verdict: CanaryVerdict;
  /** of the response; undefined without one */
  message: JsonObject | undefined;
  /** of the response that was an error */
  status: number | undefined;
}

/** Statuses with which a model server says that it does not support something in the request. */
const refusals = [400, 404, 415, 422, 501];

/**
 * What the outcomes prove. A single wrong response proves nothing, since models make mistakes. Two outcomes prove that the
 * model cannot do something: an error, if it served another canary, and text in place of the JSON that a schema demands.
 */
export function provenFeatures(
  outcomes: Readonly<Record<CanaryName, CanaryOutcome>>,
): MeasuredFeatures {
  const { tools, vision, schema } = outcomes;
  const servedOne = Object.values(outcomes).some(({ message }) => message !== undefined);
  const abilityOf = ({ verdict, status = 0 }: CanaryOutcome): MeasuredFeatures["tools"] => {
    if (verdict === "passed") return "supported";
    return servedOne && refusals.includes(status) ? "unsupported" : undefined;
  };
  const [canCall, canSee] = [abilityOf(tools), abilityOf(vision)];
  const isIgnored = schema.verdict === "failed" && isProse(schema.message?.["content"]);
  return {
    ...(canCall && { tools: canCall }),
    ...(canSee && { vision: canSee }),
    ...(schema.verdict === "passed" && { structuredOutput: "best-effort" }),
    ...(isIgnored && { structuredOutput: "ignored" }),
  };
}

/** An empty response, or only the beginning of JSON, may mean that the model reached its length limit. */
function isProse(content: unknown): boolean {
  return typeof content === "string" && /^\s*[^\s{]/.test(content);
}

/** A square of 32 by 32 red pixels. */
const redSquare =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC";

/** Bytes of text that the needle is hidden in, where the context is known to take them. */
const longBytes = 48 * 1024;

/**
 * @param context - in tokens, as far as it is known
 * @param random - 0 to 1, for a prompt that no cache knows
 */
export function canaries(context: number | null, random: () => number): Record<CanaryName, Canary> {
  const code = String(10_000 + Math.floor(random() * 90_000));
  const half = Math.min(longBytes, context === null ? 8192 : context * 2) / 2;
  const text = [
    wordsOf(half, random),
    `The code of the vault is ${code}.`,
    wordsOf(half, random),
  ].join("\n");
  const needle: Canary = {
    fields: asked(`${text}\nWhat is the code of the vault? Answer with the number.`),
    holds: ({ content }) => String(content).includes(code),
  };
  return { ...shortCanaries, needle };
}

const shortCanaries: Record<Exclude<CanaryName, "needle">, Canary> = {
  tools: {
    fields: {
      ...asked("What is the weather in Oslo? Call the tool."),
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            description: "The weather in a city",
            parameters: {
              type: "object",
              properties: { city: { type: "string" } },
              required: ["city"],
            },
          },
        },
      ],
    },
    holds: ({ tool_calls: calls }) => {
      const first: unknown = Array.isArray(calls) ? calls[0] : undefined;
      const called = isObject(first) ? first["function"] : undefined;
      if (!isObject(called) || called["name"] !== "get_weather") return false;
      return /oslo/i.test(String(parseObject(String(called["arguments"]))?.["city"]));
    },
  },
  schema: {
    // The prompt does not mention JSON, so that only the schema asks for it.
    fields: {
      ...asked("Is the sea blue or green? Write two sentences about it."),
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "sea",
          strict: true,
          schema: {
            type: "object",
            properties: { colour: { enum: ["blue", "green"] }, depth: { type: "integer" } },
            required: ["colour", "depth"],
            additionalProperties: false,
          },
        },
      },
    },
    holds: ({ content }) => {
      const sea = parseObject(String(content));
      return (
        sea !== undefined &&
        ["blue", "green"].includes(String(sea["colour"])) &&
        Number.isInteger(sea["depth"]) &&
        Object.keys(sea).length === 2
      );
    },
  },
  vision: {
    fields: {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Which colour is this? Answer with one word." },
            { type: "image_url", image_url: { url: `data:image/png;base64,${redSquare}` } },
          ],
        },
      ],
    },
    holds: ({ content }) => /\bred\b/i.test(String(content)),
  },
};

function asked(content: string): JsonObject {
  return { messages: [{ role: "user", content }] };
}

const syllables = ["ba", "do", "fe", "gu", "ki", "la", "mo", "ne", "pi", "ra", "su", "to", "ve"];

/** Words that no prompt had before, so that no cache knows them. @param random - 0 to 1 */
function wordsOf(bytes: number, random: () => number): string {
  const syllable = () => syllables[Math.floor(random() * syllables.length)] ?? "ba";
  let text = "";
  while (text.length < bytes) text += `${syllable()}${syllable()}${syllable()} `;
  return text.slice(0, bytes);
}

const task = "\nIgnore the words above. Write the numbers from 1 to 500, one per line.";

/** A prompt of exactly so many bytes that leads to a long response. */
export function promptOf(bytes: number, random: () => number): string {
  return wordsOf(bytes - task.length, random) + task;
}
