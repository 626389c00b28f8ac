/** The texts of a recorded model. */
export interface Script {
  /** the response to a question, an image, or a tool's result */
  text: string;
  /** first words of a stream of it */
  firstWords: string;
  /** the reasoning before the text, where a server returns it */
  thought: string;
  toolCall: { name: string; arguments: { city: string } };
  structured: { city: string; celsius: number };
  usage: { inputTokens: number; outputTokens: number };
}

/**
 * The texts of every recorded model, the same for all servers. The servers differ in how they encode them, which is in
 * `fixtures/`; `providers.test.ts` compares the files with these texts.
 */
export const SCRIPT: Script = {
  text: "Take an umbrella ☂: it rains in Oslo.",
  firstWords: "Take",
  thought: "Oslo is wet in November.",
  toolCall: { name: "weather", arguments: { city: "Oslo" } },
  structured: { city: "Oslo", celsius: 7 },
  usage: { inputTokens: 21, outputTokens: 9 },
};

/** The one prompt a server refuses; every server with its own message, of which this is one. */
export const REFUSED_PROMPT = "Read War and Peace aloud.";
export const REFUSAL_WORD = "context";
