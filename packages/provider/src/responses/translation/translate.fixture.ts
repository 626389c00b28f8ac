import type { AskedResponse } from "./asked.ts";
import { UntranslatableError } from "./untranslatable-error.ts";
import { translateRequest } from "./request/request.ts";

/** Translates a request that has the fields of `asked` and what every request has. */
export function translated(asked: Record<string, unknown>): AskedResponse {
  return translateRequest(Buffer.from(JSON.stringify({ model: "llama", input: "hi", ...asked })));
}

/** The chat body as the provider reads it. */
export function chatOf(asked: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(translated(asked).chat)) as Record<string, unknown>;
}

export function messagesOf(input: unknown, asked: Record<string, unknown> = {}): unknown {
  return chatOf({ input, ...asked })["messages"];
}

/** @returns why the request was refused: code and field */
export function refusalOf(asked: Record<string, unknown>): [code: string, param: string] {
  try {
    translated(asked);
  } catch (error) {
    if (error instanceof UntranslatableError) return [error.code, error.param];
    throw error;
  }
  throw new Error("It was translated.");
}
