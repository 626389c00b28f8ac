import type { ErrorCode, ErrorShape } from "@roomhub/protocol";

export const TAGS = {
  Hub: "The hub itself.",
  Rooms: "Where participants meet. A room's base URL for an OpenAI SDK is `/rooms/{code}/v1`.",
  Participants: "Who shares a model in a room, and how it is reached.",
  Events: "What happens, as server-sent events. Nothing is kept and nothing replayed.",
  Models: "Who can be asked.",
  Inference:
    "OpenAI's and Anthropic's own operations, relayed to a participant. Their bodies are documented by them; the hub needs `model`.",
} as const;

/** One answer that is no error. */
export interface Answer {
  description: string;
  /** the schema's name by content type */
  content?: Readonly<Record<string, string>>;
  /** of `components.headers` */
  headers?: readonly string[];
}

export interface Parameter {
  name: string;
  in: "query" | "header";
  description: string;
  schema?: Readonly<Record<string, unknown>>;
}

/** What can be done, and where: the same operation in either family of paths. */
export interface Operation {
  /** As it is in the room-scoped family; in the management family `v1` comes before it. */
  id: string;
  tag: keyof typeof TAGS;
  summary: string;
  description?: string;
  /** method and path as in the hub's table of routes */
  routes: readonly string[];
  parameters?: readonly Parameter[];
  /** the name of the request body's schema */
  body?: string;
  answers: Readonly<Record<number, Answer>>;
  /** besides those that any request may get */
  errors: readonly ErrorCode[];
  errorShape?: ErrorShape;
  /** Whether a participant's token counts here: `optional` where other proof may do. */
  token?: "optional" | "required";
  /** A provider's own 4xx may come through. */
  isRelayed?: boolean;
  /** the manual of whoever made this operation */
  manual?: string;
}

/** A JSON answer of a named schema. */
export function json(description: string, schema: string): Answer {
  return { description, content: { "application/json": schema } };
}
