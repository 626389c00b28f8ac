import { serverRoot } from "@roomhub/protocol";
import { type CallProvider, type QueryResult, query, objectIn } from "../learn/query.ts";

/** A llama-server whose slots are read. */
export interface SlotPlace {
  call: CallProvider;
  /** with its `/v1` */
  baseUrl: string;
  headers: () => Record<string, string>;
  /** A router has a server for each model, and must not load this one for a look. */
  routedModel: string | undefined;
}

/** What `GET /props` reports of one server. */
export interface ServerProps {
  /** requests at once */
  slots: number;
  /** It has `GET /slots`. */
  hasSlotList: boolean;
  /** Its model is unloaded until the next request, and `GET /slots` counts as one. */
  isAsleep: boolean;
}

const lookMs = 3_000;
const maxSlots = 65_536;

/** Loads nothing and wakes nothing. @returns undefined when there was no such response. Never throws */
export async function readProps(place: SlotPlace): Promise<ServerProps | undefined> {
  const properties = objectIn((await lookBelowRoot(place, "/props")).body);
  return properties === undefined ? undefined : propsIn(properties);
}

/** @param properties - of `GET /props` */
export function propsIn(properties: Record<string, unknown>): ServerProps | undefined {
  const slots = properties["total_slots"];
  if (!Number.isInteger(slots) || !((slots as number) > 0)) return undefined;
  return {
    slots: Math.min(slots as number, maxSlots),
    hasSlotList: properties["endpoint_slots"] === true,
    isAsleep: properties["is_sleeping"] === true,
  };
}

/**
 * How many slots are busy now. Wakes a server that sleeps, and keeps one awake that would: never to be done regularly.
 *
 * @returns undefined when there was no such response. Never throws
 */
export async function countBusySlots(place: SlotPlace): Promise<number | undefined> {
  const { head, body, problem } = await lookBelowRoot(place, "/slots");
  if (problem !== undefined || head?.status !== 200) return undefined;
  try {
    const slots: unknown = JSON.parse(body.toString("utf8"));
    if (!Array.isArray(slots)) return undefined;
    const entries = slots as ({ is_processing?: unknown } | null)[];
    return entries.filter((slot) => slot?.is_processing === true).length;
  } catch {
    return undefined; // not a llama-server any more
  }
}

function lookBelowRoot(place: SlotPlace, path: string): Promise<QueryResult> {
  const { call, baseUrl, headers, routedModel } = place;
  const search =
    routedModel === undefined ? "" : `?model=${encodeURIComponent(routedModel)}&autoload=false`;
  const root = serverRoot(baseUrl);
  const request = { baseUrl: root, method: "GET", path: path + search, body: undefined };
  return query(call, { ...request, headers: headers() }, lookMs);
}
