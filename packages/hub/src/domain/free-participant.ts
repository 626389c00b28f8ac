import { isSameModel } from "@roomhub/protocol";
import { capabilityOf, isFull, type Participant } from "./participant.ts";
import { isRoutable } from "./readiness.ts";
import type { Room } from "./room.ts";
import type { SelectionQuery } from "./selection-query.ts";

/**
 * Who serves a request at once, found without a look at more participants than needed; undefined when none is free, or
 * when it takes the whole rule to tell. In a room of a thousand this is what a request costs.
 */
export function freeParticipant(room: Room, query: SelectionQuery): Participant | undefined {
  const { selector } = query;
  switch (selector.kind) {
    case "any":
      return anyFree(room, query);
    case "model":
      return firstFree(room, selector.model, query);
    case "name": {
      const named = room.participants.get(selector.name);
      if (named === undefined || query.excluded.includes(named)) {
        return firstFree(room, selector.name, query);
      }
      return isFree(named, query) ? named : undefined;
    }
  }
}

/** Uniform among the free. Two passes, because a list of them would cost more. */
function anyFree(room: Room, query: SelectionQuery): Participant | undefined {
  let count = 0;
  for (const one of room.participants.values()) if (isFree(one, query)) count++;
  if (count === 0) return undefined;
  let index = Math.floor(query.random() * count);
  for (const one of room.participants.values()) {
    if (isFree(one, query) && index-- === 0) return one;
  }
  return undefined;
}

/** Under exactly that name first, then those that differ by a `:latest` tag, each in join order. */
function firstFree(room: Room, model: string, query: SelectionQuery): Participant | undefined {
  let loose: Participant | undefined;
  for (const one of room.participants.values()) {
    if (one.model === model) {
      if (isFree(one, query)) return one;
    } else if (loose === undefined && isSameModel(one.model, model) && isFree(one, query)) {
      loose = one;
    }
  }
  return loose;
}

function isFree(one: Participant, { excluded, protocol, nowMs }: SelectionQuery): boolean {
  return (
    !isFull(one) &&
    isRoutable(one, nowMs) &&
    capabilityOf(one, protocol) !== "unsupported" &&
    (excluded.length === 0 || !excluded.includes(one))
  );
}
