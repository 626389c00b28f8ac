/**
 * What every recorded model says, whoever serves it. The servers differ in how they put it on the wire, which is in
 * `fixtures/`; `providers.test.ts` holds the files to these words.
 */
export const SCRIPT = {
  /** the answer to a plain question, an image, or a tool's result */
  text: "Take an umbrella ☂: it rains in Oslo.",
  /** first words of a stream of it */
  firstWords: "Take",
  /** thought before the text, where a server tells */
  thought: "Oslo is wet in November.",
  /** to whoever offers tools: one call */
  toolCall: { name: "weather", arguments: { city: "Oslo" } },
  /** to whoever wants JSON */
  structured: { city: "Oslo", celsius: 7 },
  /** tokens of `text` */
  usage: { inputTokens: 21, outputTokens: 9 },
} as const;

/** The one question a server refuses; every server in its own words, of which this is one. */
export const REFUSED_PROMPT = "Read War and Peace aloud.";
export const REFUSAL_WORD = "context";
