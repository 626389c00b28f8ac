/** What a hub should know, as plain maps: rooms, who is in them, and what became of each request. */
export interface RoomModel {
  /** its place in the list of rooms, and the mark in every name that belongs to it */
  index: number;
  code: string;
  password: string | undefined;
  people: Map<string, Person>;
}

/** One registration; whoever takes an id over is a new one. */
export interface Person {
  id: string;
  nickname: string;
  model: string;
  limit: number;
  token: string;
  /** registered from the address everybody here has, not through a stranger's proxy */
  isNear: boolean;
  isOnline: boolean;
  lastSeenMs: number;
  tunnel: "closed" | "ready" | "not ready";
  /** requests its agent works on */
  active: number;
}

export type Prediction =
  | { kind: "goes to"; one: Person[] }
  | { kind: "waits"; for: Person[] }
  | { kind: "refused"; status: 404 | 503 };

export const offlineAfterMs = 30_000;

/** A sign of life. */
export function heard(person: Person, nowMs: number): void {
  person.lastSeenMs = nowMs;
  person.isOnline = true;
}

function isRoutable(person: Person): boolean {
  return person.isOnline && person.tunnel === "ready";
}

export function isLive(person: Person): boolean {
  return person.isOnline || person.tunnel !== "closed";
}

/** Interface §4 and contract §3, "Selector", for people whose only path is a tunnel. */
export function predict(room: RoomModel, selector: string, except?: Person): Prediction {
  const people = [...room.people.values()].filter((one) => one !== except);
  if (selector === "*" || selector === "any") return choose(people, true);
  if (selector.startsWith("model:")) {
    return choose(serving(people, selector.slice("model:".length)), false);
  }
  const named = people.find(({ id }) => id === selector);
  const others = serving(people, selector).filter((one) => one !== named);
  if (named === undefined) return choose(others, false);
  return isRoutable(named) || !others.some(isRoutable)
    ? choose([named], false)
    : choose(others, false);
}

function serving(people: Person[], model: string): Person[] {
  const untagged = (name: string) => name.replace(/:latest$/, "");
  const exact = people.filter((one) => one.model === model);
  const loose = people.filter(
    (one) => one.model !== model && untagged(one.model) === untagged(model),
  );
  return [...exact, ...loose];
}

function choose(matched: Person[], isFreeChoice: boolean): Prediction {
  if (matched.length === 0) return { kind: "refused", status: 404 };
  const routable = matched.filter(isRoutable);
  if (routable.length === 0) return { kind: "refused", status: 503 };
  const free = routable.filter(({ active, limit }) => active < limit);
  if (free.length === 0) return { kind: "waits", for: routable };
  return { kind: "goes to", one: isFreeChoice ? free : free.slice(0, 1) };
}
