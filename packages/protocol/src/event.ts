import type { z } from "zod";
import type { EVENT_PAYLOADS } from "./event-payload.ts";

export type EventName = keyof typeof EVENT_PAYLOADS;

/** What each event tells, by its dotted name. Contract §5. */
export type EventPayloads = { [Name in EventName]: z.infer<(typeof EVENT_PAYLOADS)[Name]> };

/** How a stream spells its names: the room-scoped family with colons, the management family with dots. */
export type EventSpelling = "colon" | "dot";

/** Apart from the schemas, because the SDK needs the names in browsers and no schema. */
export const EVENT_NAMES = [
  "room.created",
  "participant.joined",
  "participant.updated",
  "participant.left",
  "participant.offline",
  "llm.request",
  "llm.complete",
  "llm.error",
] as const satisfies readonly EventName[];

export function spellEventName(name: EventName, spelling: EventSpelling): string {
  return spelling === "dot" ? name : name.replace(".", ":");
}

/** The `data` of one event on the wire, dotted spelling. `timestamp` is ISO. */
export type HubEvent = {
  [Name in EventName]: { type: Name; timestamp: string; roomCode: string } & EventPayloads[Name];
}[EventName];
