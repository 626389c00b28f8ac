import type { ProviderShape } from "./providers/provider-shape.ts";

/** A client package or program, with each of the things that applications do in its own API. */
export interface CompatClient {
  /** as the table lists it */
  name: string;
  /** which of a room's surfaces it calls */
  speaks: "chat" | "responses" | "messages";
  /** why it cannot run on this machine */
  missing?: string | undefined;
  does: Operations;
  /** what it cannot show over a provider, and why; undefined for what it can */
  cannot?: (column: string, shape: ProviderShape) => string | undefined;
}

export interface Operations {
  /** @returns the ids it lists */
  listModels: Doing<(target: Target) => Promise<string[]>>;
  ask: Doing<(target: Target, prompt: string) => Promise<Answer>>;
  /** Reads a stream to its end, or until `signal` makes it leave. */
  stream: Doing<(target: Target, prompt: string, listener: StreamListener) => Promise<Answer>>;
  /** Sends a request with a tool, runs it, and continues with its result to the final text. */
  useTool: Doing<(target: Target, prompt: string, tool: Tool) => Promise<string>>;
  /** Requests JSON of this schema. */
  askForJson: Doing<(target: Target, prompt: string, schema: JsonSchema) => Promise<unknown>>;
  /** @param image - a data URL */
  askAboutImage: Doing<(target: Target, prompt: string, image: string) => Promise<string>>;
  /** Sends a request that must fail. @returns the error as the application sees it */
  fail: Doing<(target: Target, model: string, prompt: string) => Promise<Failure>>;
}

/** Something a client does, or why it does not. */
type Doing<Operation> = Operation | Lacking;
export interface Lacking {
  reason: string;
}

/** The operations of a client that has them all. */
export type Present<T> = { [Key in keyof T]: Exclude<T[Key], Lacking> };

export function lacking(reason: string): Lacking {
  return { reason };
}

/** Where a client is pointed. */
export interface Target {
  /** `http://127.0.0.1:<port>/rooms/CODE`: for clients that add `/v1` themselves */
  roomUrl: string;
  /** `…/rooms/CODE/v1` */
  baseUrl: string;
  /** what to put into `model` */
  model: string;
  /** The global one, watched: what the hub translated is checked against the Responses schema. */
  fetch: typeof globalThis.fetch;
}

export interface Answer {
  text: string;
  /** tokens; undefined when the client got no usage */
  usage: { inputTokens: number; outputTokens: number } | undefined;
}

export interface StreamListener {
  onText: (text: string) => void;
  signal: AbortSignal;
}

export interface Tool {
  name: string;
  description: string;
  parameters: JsonSchema;
  run: (input: unknown) => string | Promise<string>;
}

/** The part of JSON Schema that every client takes. */
export interface JsonSchema {
  type: "object";
  properties: Record<string, { type: "string" | "number" }>;
  required: string[];
  additionalProperties: false;
}

export interface Failure {
  status: number | undefined;
  /** the error's code, where the client exposes it; else its type */
  code: string | undefined;
  message: string;
}

/** Any string is a key: a room requires none. */
export const ANY_KEY = "any-string-will-do";
