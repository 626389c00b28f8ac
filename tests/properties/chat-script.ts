import {
  type Arbitrary,
  array,
  boolean,
  constantFrom,
  integer,
  nat,
  oneof,
  option,
  record,
  string,
} from "fast-check";

/** A model's output, and how its server encodes it in a chat stream. */
export interface ChatScript {
  /** in the order of a complete message: reasoning, text, refusal, calls */
  isInOrder: boolean;
  speech: Speech[];
  calls: ScriptedCall[];
  dialect: CallDialect;
  /** whose turn it is, over and over */
  turns: number[];
  finishReason: "stop" | "tool_calls" | "length" | "content_filter";
  usage: "none" | "on the finish chunk" | "on a chunk of its own" | "on every chunk";
  wire: Wire;
}

export interface Speech {
  kind: "reasoning_content" | "reasoning" | "content" | "refusal";
  pieces: string[];
  hasLogProbs: boolean;
}

export interface ScriptedCall {
  name: "f" | "ns__g" | "patch";
  /** JSON; of the last call perhaps not all, where the response was cut short */
  arguments: string;
  /** sizes of the pieces it is sent in, over and over */
  bites: number[];
}

/**
 * How a server marks which call a piece belongs to. `openai`: index always, id and name once. `repeats`: all of it always.
 * `by id`: no index. `bare`: neither. `zero`: every call has index 0. `new ids`: each piece has an id of its own.
 */
export type CallDialect = "openai" | "repeats" | "by id" | "bare" | "zero" | "new ids";

interface Wire {
  lineEnd: "\n" | "\r\n" | "\r";
  hasBlank: boolean;
  hasDone: boolean;
  hasNoise: boolean;
}

const text = string({ unit: "grapheme", minLength: 0, maxLength: 12 });
const bites = array(integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 3 }).map((sizes) => [
  ...sizes,
  5,
]);

const speech: Arbitrary<Speech> = record({
  kind: constantFrom("reasoning_content", "reasoning", "content", "content", "refusal"),
  pieces: array(text, { maxLength: 4 }),
  hasLogProbs: boolean(),
});

const call: Arbitrary<ScriptedCall> = oneof(
  record({
    name: constantFrom("f" as const, "ns__g" as const),
    arguments: record({ a: option(text), "}": nat(), b: array(text, { maxLength: 2 }) }).map(
      (value) => JSON.stringify(value),
    ),
    bites,
  }),
  record({
    name: constantFrom("patch" as const),
    arguments: string({ unit: "binary", maxLength: 40 }).map((input) => JSON.stringify({ input })),
    bites,
  }),
);

const script: Arbitrary<ChatScript> = record({
  isInOrder: boolean(),
  speech: array(speech, { maxLength: 4 }),
  calls: array(call, { maxLength: 4 }),
  dialect: constantFrom("openai", "openai", "repeats", "by id", "bare", "zero", "new ids"),
  turns: array(nat(10), { minLength: 1, maxLength: 12 }),
  finishReason: constantFrom("stop", "tool_calls", "length", "content_filter"),
  usage: constantFrom("none", "on the finish chunk", "on a chunk of its own", "on every chunk"),
  wire: record({
    lineEnd: constantFrom("\n", "\n", "\r\n", "\r"),
    hasBlank: boolean(),
    hasDone: boolean(),
    hasNoise: boolean(),
  }),
});

export const anyScript = script.map((whole) =>
  whole.finishReason === "length" ? { ...whole, calls: cutShort(whole) } : whole,
);

/** In the order of a complete message, each kind once: what a JSON chat completion can contain too. */
export const scriptInOrder = anyScript.map((any): ChatScript => {
  const kinds = ["reasoning_content", "content", "refusal"] as const;
  const speech = kinds.flatMap((kind) => any.speech.find((spoken) => spoken.kind === kind) ?? []);
  return { ...any, isInOrder: true, speech };
});

/** Where all calls have the index 0, one cut off before its arguments looks like the end of the one before it. */
function cutShort({ calls, turns: [turn = 0], dialect }: ChatScript): ScriptedCall[] {
  const length = Math.max(turn * 3, dialect === "zero" ? 1 : 0);
  return calls.map((call, at) =>
    at < calls.length - 1 ? call : { ...call, arguments: call.arguments.slice(0, length) },
  );
}
