import { isSameModel } from "@roomhub/protocol";
import { capabilityOf, type Participant } from "./participant.ts";
import { isFull } from "./slots.ts";
import { placeRequest } from "./placement/place-request.ts";
import { isRoutable } from "./readiness.ts";
import { isPresent, type Room } from "./room.ts";
import { type Selection, type SelectionQuery, isLeftToOthers } from "./selection-query.ts";

/**
 * Which participant serves a request at once, found without a look at more participants than needed; undefined when none
 * is free, or when it takes the whole rule to tell. In a room of a thousand this is what a request costs.
 */
export function selectAtOnce(room: Room, query: SelectionQuery): Selection | undefined {
  const { selector } = query;
  switch (selector.kind) {
    case "any":
      return selected(boundFree(room, query) ?? anyFree(room, query));
    case "model":
      return selected(firstFree(room, selector.model, query));
    case "name": {
      const named = room.participants.get(selector.name);
      if (named !== undefined && !query.excluded.includes(named)) {
        return isFree(named, query) ? selected(named) : undefined;
      }
      const serving = room.placing.serving.serving(selector.name, room.participants.values());
      return placed(room, serving, query);
    }
  }
}

/** Where a request by model name goes among those that serve the model; undefined when none of them is free. */
export function placed(
  room: Room,
  serving: readonly Participant[],
  query: SelectionQuery,
): Selection | undefined {
  const [only] = serving;
  if (serving.length === 1 && only !== undefined) {
    return isFree(only, query) ? selected(only) : undefined;
  }
  const placement = placeRequest(room, serving, query);
  switch (placement.kind) {
    case "take":
      return selected(placement.candidate.participant);
    case "hold": {
      const { participant } = placement.candidate;
      const hold = { participant, untilMs: placement.untilMs };
      return { kind: "busy", candidates: [participant], hold };
    }
    case "full":
      return undefined;
  }
}

function selected(participant: Participant | undefined): Selection | undefined {
  return participant === undefined ? undefined : { kind: "selected", participant };
}

/** The participant that this session had before. One that is full, or failed lately, is passed over for this request alone. */
function boundFree(room: Room, query: SelectionQuery): Participant | undefined {
  const { session } = query.prompt;
  if (session === undefined) return undefined;
  const bound = room.placing.sessions.find(session, query.nowMs());
  if (bound === undefined || !isPresent(room, bound)) return undefined;
  if (bound.isStandIn && isLeftToOthers(room, query)) return undefined;
  return isFree(bound, query) && !bound.learned.pace.isDoubtful(query.nowMs()) ? bound : undefined;
}

/** Uniform among the free. Two passes, because a list of them would cost more. */
function anyFree(room: Room, query: SelectionQuery): Participant | undefined {
  const isLeft = isLeftToOthers(room, query);
  let count = 0;
  for (const one of room.participants.values()) {
    if (!(isLeft && one.isStandIn) && isFree(one, query)) count++;
  }
  if (count === 0) return undefined;
  let index = Math.floor(query.random() * count);
  for (const one of room.participants.values()) {
    if (!(isLeft && one.isStandIn) && isFree(one, query) && index-- === 0) return one;
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
