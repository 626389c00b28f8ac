import { translateRequest, type TranslatedRequest } from "./request/request.ts";
import { UntranslatableError } from "../translation/placed-object.ts";

/** Translates a request that has the fields of `requested` and what every request has. */
export function translated(requested: Record<string, unknown>): TranslatedRequest {
  return translateRequest(
    Buffer.from(JSON.stringify({ model: "llama", input: "hi", ...requested })),
  );
}

/** The chat body as the provider reads it. */
export function chatOf(requested: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(translated(requested).chat)) as Record<string, unknown>;
}

export function messagesOf(input: unknown, requested: Record<string, unknown> = {}): unknown {
  return chatOf({ input, ...requested })["messages"];
}

/** @returns why the request was refused: code and field */
export function refusalOf(requested: Record<string, unknown>): [code: string, param: string] {
  try {
    translated(requested);
  } catch (error) {
    if (error instanceof UntranslatableError) return [error.code, error.param];
    throw error;
  }
  throw new Error("It was translated.");
}
