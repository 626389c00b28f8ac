import {
  DETAIL_PAYLOADS,
  type DetailPayloads,
  EVENT_PAYLOADS,
  type EventPayloads,
  type HubEvent,
} from "@roomhub/protocol";
import { expect, test } from "vitest";
import { EVENT_FIELDS, missingField } from "./event-fields.ts";

const client = { kind: "none", id: "" } as const;
const about = { requestId: "req_1", selector: "*", protocol: "chatCompletions", client } as const;
const served = { ...about, participantId: "ana", model: "llama3" };
const who = { participantId: "ana", nickname: "Ana" };
const participant: EventPayloads["participant.joined"]["participant"] = {
  id: "ana",
  nickname: "Ana",
  model: "llama3",
  endpoint: "http://127.0.0.1:11434",
  status: "online",
  connection: {
    ...{ kind: "tunnel", connected: true, lastTunnelSeenAt: null },
    ...{ path: "direct", readiness: "ready" },
  },
  specs: {},
  config: {},
  capabilities: { openResponses: "unknown", chatCompletions: "unknown" },
  joinedAt: 0,
  lastSeen: 0,
  load: { active: 0, queued: 0, limit: 4, limitFrom: "default" },
};
const uuid = "792b78b7-d58f-435f-bbd9-d0e29d106cd0";
const room = { id: uuid, code: "ABC234", name: "lab", hostId: uuid, createdAt: 0 };
const samples: EventPayloads & DetailPayloads = {
  "room.created": { room: { ...room, passwordProtected: false, participantCount: 0 } },
  "participant.joined": { participant },
  "participant.updated": { participant },
  "participant.left": who,
  "participant.offline": who,
  "llm.request": { ...served, attempt: 1 },
  "llm.complete": {
    ...{ ...served, attempts: 1, queueMs: 0 },
    metrics: { ttftMs: 1, durationMs: 2 },
  },
  "llm.error": {
    ...{ ...about, participantId: null, nickname: null, endpoint: null, model: null },
    ...{ stage: "routing", error: "no", code: "model_not_found", attempts: 0, queueMs: 0 },
  },
  "request.queued": { ...about, place: 1 },
  "request.first": { requestId: "req_1", participantId: "ana", ttftMs: 1 },
  "request.progress": { requestId: "req_1", outputTokens: 1 },
};
const schemas = { ...EVENT_PAYLOADS, ...DETAIL_PAYLOADS };
const names = Object.keys(EVENT_FIELDS) as (keyof typeof EVENT_FIELDS)[];

function eventOf(name: keyof typeof samples, payload: object): HubEvent {
  return { type: name, timestamp: "t", roomCode: "ABC234", ...payload } as HubEvent;
}

/** `metrics.ttftMs` for each field, the outer ones too. */
function pathsIn(fields: object, before = ""): string[] {
  return Object.entries(fields).flatMap(([name, kind]: [string, unknown]) => {
    const path = `${before}${name}`;
    return typeof kind === "object" ? [path, ...pathsIn(kind ?? {}, `${path}.`)] : [path];
  });
}

/** A copy in which one field has another value. */
function changed(value: object, path: string, field: unknown): object {
  const [name = "", ...rest] = path.split(".");
  const inner = (value as Record<string, unknown>)[name];
  return {
    ...value,
    [name]: rest.length === 0 ? field : changed(inner as object, rest.join("."), field),
  };
}

/** What a hub may leave out, in fields that have one kind where they are present. */
const unknowns = ["input", "output", "total", "cachedInput"].map((what) => `metrics.${what}Tokens`);
const mayLack = new Set([...unknowns, "metrics.tokensPerSecond"]);

test.each(names)(
  "%s of a hub has every field that is required, and none is required that a hub may leave out",
  (name) => {
    const payload = samples[name];
    expect(schemas[name].safeParse(payload).success).toBe(true);
    expect(missingField(eventOf(name, payload))).toBeUndefined();
    for (const path of pathsIn(EVENT_FIELDS[name])) {
      const without = changed(payload, path, undefined);
      expect(schemas[name].safeParse(without).success, path).toBe(mayLack.has(path));
      // Older hubs send no client.
      const expected = mayLack.has(path) || path === "client" ? undefined : path;
      expect(missingField(eventOf(name, without))).toBe(expected);
      expect(missingField(eventOf(name, changed(payload, path, 7n)))).toBe(path);
    }
  },
);

test.each(["timestamp", "roomCode"])("an event without %s lacks it", (field) => {
  const event = eventOf("participant.left", { ...who, [field]: undefined });
  expect(missingField(event)).toBe(field);
});
