/** What a hub should know, as plain maps: rooms, who is in them, and what became of each request. */
export interface RoomModel {
  /** its place in the list of rooms, and the mark in every name that belongs to it */
  index: number;
  code: string;
  password: string | undefined;
  people: Map<string, Person>;
}

/** One registration; an id that is taken over gets a new one. */
export interface Person {
  id: string;
  nickname: string;
  model: string;
  limit: number;
  token: string;
  /** registered from the address that all callers here have, not through an unknown proxy */
  isNear: boolean;
  isOnline: boolean;
  lastSeenMs: number;
  /** and its agent's last report of the model server */
  tunnel: "closed" | Word;
  /** another object after each change of its credentials */
  credentials: { haveWorked: boolean };
  /** when one request may try credentials that are refused */
  trial: { dueMs: number; nextMs: number } | undefined;
  /** until when its model server, after a 503, gets no other request */
  overloadedUntilMs: number | undefined;
  /** requests its agent works on */
  active: number;
}

export type Word = "ready" | "loading" | "needs-credentials" | "down";

export type Prediction =
  | { kind: "goes to"; one: Person[] }
  | { kind: "waits"; for: Person[] }
  | { kind: "refused"; status: 404 | 502 | 503 };

export const offlineAfterMs = 30_000;

/** A sign of life. */
export function heard(person: Person, nowMs: number): void {
  person.lastSeenMs = nowMs;
  person.isOnline = true;
}

export function tunnelIs(person: Person, tunnel: Person["tunnel"], nowMs: number): void {
  if (person.tunnel === tunnel) return;
  person.tunnel = tunnel;
  const isRefused = tunnel === "needs-credentials";
  person.trial = isRefused ? { dueMs: nowMs + 5_000, nextMs: 10_000 } : undefined;
}

/** Its credentials are others now. */
export function renew(person: Person, nowMs: number): void {
  person.credentials = { haveWorked: false };
  if (person.trial !== undefined) person.trial = { dueMs: nowMs, nextMs: 5_000 };
}

/** A request has come to it. */
export function takesTrial({ trial }: Person, nowMs: number): void {
  if (trial === undefined) return;
  trial.dueMs = nowMs + trial.nextMs;
  trial.nextMs = Math.min(2 * trial.nextMs, 120_000);
}

/** What a request selects, and when. */
export interface Question {
  selector: string;
  nowMs: number;
  /** must not be called again */
  excluded: readonly Person[];
}

function isRoutable(person: Person, nowMs: number): boolean {
  const { isOnline, tunnel, trial } = person;
  if (tunnel === "ready") return isOnline && !isOverloaded(person, nowMs);
  return isOnline && trial !== undefined && trial.dueMs <= nowMs;
}

function isOverloaded({ overloadedUntilMs }: Person, nowMs: number): boolean {
  return overloadedUntilMs !== undefined && nowMs < overloadedUntilMs;
}

/** Requests wait for it, though it may have free slots. */
function isAwaited(person: Person, nowMs: number): boolean {
  const { isOnline, tunnel } = person;
  return isOnline && (tunnel === "loading" || (tunnel === "ready" && isOverloaded(person, nowMs)));
}

/** As it is listed. Contract §1. */
export function statusOf(person: Person, nowMs: number): "online" | "unavailable" | "offline" {
  if (!person.isOnline) return "offline";
  const { tunnel } = person;
  const isServing = tunnel === "closed" || tunnel === "ready" || tunnel === "loading";
  return isServing || isRoutable(person, nowMs) ? "online" : "unavailable";
}

export function isLive(person: Person): boolean {
  return person.isOnline || person.tunnel !== "closed";
}

/** Interface §4 and contract §3, "Selector", for participants whose only path is a tunnel. */
export function predict(room: RoomModel, { selector, nowMs, excluded }: Question): Prediction {
  const people = [...room.people.values()].filter((one) => !excluded.includes(one));
  if (selector === "*" || selector === "any") return choose(people, true, nowMs);
  if (selector.startsWith("model:")) {
    return choose(serving(people, selector.slice("model:".length)), false, nowMs);
  }
  const named = people.find(({ id }) => id === selector);
  const others = serving(people, selector).filter((one) => one !== named);
  if (named === undefined) return choose(others, false, nowMs);
  const byId = choose([named], false, nowMs);
  if (byId.kind !== "refused") return byId;
  const instead = choose(others, false, nowMs);
  return instead.kind === "refused" ? choose([named, ...others], false, nowMs) : instead;
}

function serving(people: Person[], model: string): Person[] {
  const untagged = (name: string) => name.replace(/:latest$/, "");
  const exact = people.filter((one) => one.model === model);
  const loose = people.filter(
    (one) => one.model !== model && untagged(one.model) === untagged(model),
  );
  return [...exact, ...loose];
}

function choose(matched: Person[], isFreeChoice: boolean, nowMs: number): Prediction {
  if (matched.length === 0) return { kind: "refused", status: 404 };
  const able = matched.filter((one) => isRoutable(one, nowMs) || isAwaited(one, nowMs));
  if (able.length === 0) {
    const areLocked = matched.every((one) => one.isOnline && one.tunnel === "needs-credentials");
    return { kind: "refused", status: areLocked ? 502 : 503 };
  }
  const free = able.filter((one) => !isAwaited(one, nowMs) && one.active < one.limit);
  if (free.length === 0) return { kind: "waits", for: able };
  return { kind: "goes to", one: isFreeChoice ? free : free.slice(0, 1) };
}
