import { parseJson } from "@roomhub/protocol";
import { HubError } from "../errors.ts";
import { encodeRoom, type StoredRoom } from "../storage/room-store.ts";
import type { StoredRegistration } from "../domain/stored-registration.ts";
import { decodeRegistration, encodeRegistration } from "./homes/registration.ts";
import type { Home } from "./homes/room-home.ts";
import type { HubPresence } from "./hubs/hub-presence.ts";

/** Larger entries are refused: every hub holds all of them. */
const MAX_ENTRY_BYTES = 64 * 1024;

/** Kinds of entries that every hub follows, each with keys and revisions of its own. */
export const WATCHED_KINDS = ["rooms", "hubs", "homes"] as const;
export type WatchedKind = (typeof WATCHED_KINDS)[number];

/** Registrations are read by the hub that becomes a room's home, and by no other. */
export const ENTRY_KINDS = [...WATCHED_KINDS, "registrations"] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** Keys hold only what NATS 2.9 accepts in one: base64url, parts separated by dots. */
export function encodeKey(...parts: string[]): string {
  return parts.map((part) => Buffer.from(part).toString("base64url")).join(".");
}

export function decodeKey(key: string): string[] {
  return key.split(".").map((part) => Buffer.from(part, "base64url").toString());
}

/** @throws HubError when it is too large */
export function encodeRoomEntry(room: StoredRoom): string {
  return checkSize(encodeRoom(room), `room "${room.code}"`);
}

export function encodeHome({ hubId, bootId, epoch }: Home): string {
  return JSON.stringify({ hubId, bootId, epoch });
}

/** @throws Error that repeats nothing of the text */
export function decodeHome(text: string): Home {
  const { hubId, bootId, epoch } = decodeObject(text) as Partial<Record<keyof Home, unknown>>;
  const isHome =
    typeof hubId === "string" &&
    typeof bootId === "string" &&
    typeof epoch === "number" &&
    Number.isSafeInteger(epoch) &&
    epoch >= 1;
  if (!isHome) throw new Error("it is not a home");
  return { hubId, bootId, epoch };
}

/** @throws HubError when it is too large */
export function encodeRegistrationEntry(registration: StoredRegistration): string {
  return checkSize(encodeRegistration(registration), `participant "${registration.id}"`);
}

/** @throws Error that repeats nothing of the text */
export function decodeRegistrationEntry(text: string): StoredRegistration {
  return decodeRegistration(decodeObject(text));
}

/** @throws Error that repeats nothing of the text */
export function decodePresence(text: string): HubPresence {
  return decodeObject(text) as HubPresence;
}

function decodeObject(text: string): object {
  const value = parseJson(text);
  if (value === undefined) throw new Error("it is not JSON");
  if (typeof value !== "object" || value === null) throw new Error("it is not an object");
  return value;
}

function checkSize(text: string, what: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_ENTRY_BYTES) return text;
  const message = `The ${what} takes ${bytes} bytes in the cluster's directory, which has room for ${MAX_ENTRY_BYTES}. Shorten its fields.`;
  throw new HubError("field_too_large", message);
}
