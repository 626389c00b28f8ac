import { isObject, type DetailEvent, type HubEvent } from "@roomhub/protocol";

type Kind =
  | "string"
  | "number"
  | "boolean"
  | "string or null"
  | "object or absent"
  | "number or absent";
interface Fields {
  readonly [name: string]: Kind | Fields;
}

const request = { requestId: "string", protocol: "string", client: "object or absent" } as const;
const served = { ...request, participantId: "string", model: "string" } as const;
const metrics = {
  ttftMs: "number",
  durationMs: "number",
  inputTokens: "number or absent",
  outputTokens: "number or absent",
  totalTokens: "number or absent",
  cachedInputTokens: "number or absent",
  tokensPerSecond: "number or absent",
} as const;
const member = { participantId: "string", nickname: "string" } as const;
const participant = {
  id: "string",
  nickname: "string",
  model: "string",
  endpoint: "string",
  status: "string",
  connection: { connected: "boolean" },
  specs: {},
  config: {},
  capabilities: {},
  load: { active: "number", queued: "number", limit: "number" },
} as const;

/**
 * What each event must have, so that programs can read it without a check: the fields of interface §6, and the load of a
 * participant. Other fields may be missing: older hubs lack some, and figures may be unknown.
 */
export const EVENT_FIELDS: Readonly<Record<(HubEvent | DetailEvent)["type"], Fields>> = {
  "room.created": { room: { code: "string", name: "string" } },
  "participant.joined": { participant },
  "participant.updated": { participant },
  "participant.left": member,
  "participant.offline": member,
  "llm.request": served,
  "llm.complete": { ...served, metrics },
  "llm.error": {
    ...request,
    stage: "string",
    error: "string",
    participantId: "string or null",
    nickname: "string or null",
    endpoint: "string or null",
    model: "string or null",
  },
  "request.queued": { ...request, place: "number" },
  "request.first": { requestId: "string", participantId: "string", ttftMs: "number" },
  "request.progress": { requestId: "string", outputTokens: "number" },
};

/** @returns the path of the first field that is missing or of another kind, such as `metrics.ttftMs`; undefined for none */
export function missingField(event: HubEvent | DetailEvent): string | undefined {
  const fields = { timestamp: "string", roomCode: "string", ...EVENT_FIELDS[event.type] } as const;
  return missingIn(event, fields);
}

function missingIn(value: object, fields: Fields): string | undefined {
  for (const [name, kind] of Object.entries(fields)) {
    const field = (value as Record<string, unknown>)[name];
    if (typeof kind === "string") {
      if (!isOf(field, kind)) return name;
    } else if (!isObject(field)) return name;
    else {
      const inner = missingIn(field, kind);
      if (inner !== undefined) return `${name}.${inner}`;
    }
  }
  return undefined;
}

function isOf(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case "string or null":
      return value === null || typeof value === "string";
    case "object or absent":
      return value === undefined || isObject(value);
    case "number or absent":
      return value === undefined || typeof value === "number";
    default:
      return typeof value === kind;
  }
}
