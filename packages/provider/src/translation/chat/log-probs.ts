import { fieldsOf } from "./provider-field.ts";

/** How likely a token was, as Open Responses 2026-04-24 has it: every key is required. */
export interface LogProb extends TopLogProb {
  top_logprobs: TopLogProb[];
}

interface TopLogProb {
  token: string;
  logprob: number;
  /** of the token in UTF-8; filled in where chat says null */
  bytes: number[];
}

const none: readonly LogProb[] = [];

/** Reads `logprobs.content` of a chat choice; what is no list of tokens is an empty one. */
export function readLogProbs(content: unknown): readonly LogProb[] {
  return Array.isArray(content) ? content.flatMap(readToken) : none;
}

function readToken(entry: unknown): LogProb[] {
  const { top_logprobs: top } = fieldsOf(entry);
  return readTop(entry).map((token) => ({
    ...token,
    top_logprobs: Array.isArray(top) ? top.flatMap(readTop) : [],
  }));
}

function readTop(entry: unknown): TopLogProb[] {
  const { token, logprob, bytes } = fieldsOf(entry);
  if (typeof token !== "string" || typeof logprob !== "number") return [];
  return [{ token, logprob, bytes: isBytes(bytes) ? bytes : [...Buffer.from(token)] }];
}

function isBytes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((byte) => Number.isInteger(byte));
}
