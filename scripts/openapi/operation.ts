import type { ErrorCode, ErrorShape } from "@roomhub/protocol";

export const TAGS = {
  Hub: "The hub itself.",
  Rooms: "Where participants meet. A room's base URL for an OpenAI SDK is `/rooms/{code}/v1`.",
  Aliases: "Names that stand for models of a room.",
  Keys: "Who may use a closed room.",
  Participants: "The models shared in a room, and how they are reached.",
  Events: "What happens, as server-sent events. Nothing is stored or replayed.",
  Models: "The participants that can serve requests.",
  Inference:
    "OpenAI's and Anthropic's own operations, relayed to a participant. Their bodies are documented there; the hub requires only `model`.",
} as const;

/** One response that is not an error. */
export interface Success {
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
  required?: true;
  schema?: Readonly<Record<string, unknown>>;
}

/** One operation and its routes, in either family of paths. */
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
  /** The body may be `multipart/form-data`, too. */
  takesForm?: boolean;
  successes: Readonly<Record<number, Success>>;
  /** in addition to the errors of every request */
  errors: readonly ErrorCode[];
  errorShape?: ErrorShape;
  /** Whether a participant's token is used: `optional` where other proof may suffice. `host`: instead the room's host token, which the hub's own machine does not need; `keeper`: it, or the operator's secret. */
  token?: "optional" | "required" | "host" | "keeper";
  /** A provider's own 4xx may be relayed. */
  isRelayed?: boolean;
  /** the manual of the API that defines this operation */
  manual?: string;
}

/** A JSON response of a named schema. */
export function json(description: string, schema: string): Success {
  return { description, content: { "application/json": schema } };
}

/** A route of a room in both families of paths. @param route - such as `POST /rooms/:code/close` */
export function both(route: string): string[] {
  return [route, route.replace(" /", " /v1/")];
}

/** @param about - without `errors`: those of every request are all */
export function operation(
  id: string,
  tag: Operation["tag"],
  routes: readonly string[],
  about: Omit<Operation, "id" | "tag" | "routes" | "errors"> & Partial<Pick<Operation, "errors">>,
): Operation {
  return { id, tag, routes, errors: [], ...about };
}
