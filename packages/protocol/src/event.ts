import type { z } from "zod";
import type { DETAIL_PAYLOADS, EVENT_PAYLOADS } from "./event-payload.ts";

export type EventName = keyof typeof EVENT_PAYLOADS;
/** The further events of a stream with detail. */
export type DetailEventName = keyof typeof DETAIL_PAYLOADS;

/** The payload type of each event by its dotted name. Contract §5. */
export type EventPayloads = { [Name in EventName]: z.infer<(typeof EVENT_PAYLOADS)[Name]> };
export type DetailPayloads = {
  [Name in DetailEventName]: z.infer<(typeof DETAIL_PAYLOADS)[Name]>;
};

/** How a stream spells event names: with colons on room-scoped paths, with dots on management paths. */
export type EventSpelling = "colon" | "dot";

/** Separate from the schemas, so that the SDK does not load them in browsers. */
export const EVENT_NAMES = namesOf<EventName>({
  "room.created": true,
  "participant.joined": true,
  "participant.updated": true,
  "participant.left": true,
  "participant.offline": true,
  "llm.request": true,
  "llm.complete": true,
  "llm.error": true,
});

export const DETAIL_EVENT_NAMES = namesOf<DetailEventName>({
  "request.queued": true,
  "request.first": true,
  "request.progress": true,
});

/** A name that is missing in the record is a type error; in an array it would not be. */
function namesOf<Name extends string>(names: Record<Name, true>): readonly Name[] {
  return Object.keys(names) as Name[];
}

export function spellEventName(name: EventName | DetailEventName, spelling: EventSpelling): string {
  return spelling === "dot" ? name : name.replace(".", ":");
}

/** The `data` of one event on the wire, dotted spelling. `timestamp` is ISO. */
export type HubEvent = {
  [Name in EventName]: { type: Name; timestamp: string; roomCode: string } & EventPayloads[Name];
}[EventName];

/** The same for the further events of a stream with detail. */
export type DetailEvent = {
  [Name in DetailEventName]: {
    type: Name;
    timestamp: string;
    roomCode: string;
  } & DetailPayloads[Name];
}[DetailEventName];
