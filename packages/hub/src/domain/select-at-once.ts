import { canServe } from "./needs/can-serve.ts";
import { paceOf, type Participant } from "./participant.ts";
import { placeRequest } from "./placement/place-request.ts";
import { isRoutable } from "./readiness.ts";
import { isPresent, type Room } from "./room.ts";
import { hasSlot, type Selection, type SelectionQuery, isLeftToOthers } from "./selection-query.ts";

/**
 * Selects a free participant without looking at more participants than needed; undefined when none is free, or when
 * only the whole rule can tell. In a room of a thousand participants, a request costs this.
 */
export function selectAtOnce(room: Room, query: SelectionQuery): Selection | undefined {
  const { selector } = query;
  switch (selector.kind) {
    case "any":
      return selected(boundFree(room, query) ?? anyFree(room, query));
    case "model":
      return selected(servingOf(room, selector.model).find((one) => isFree(one, query)));
    case "name": {
      const named = room.participants.get(selector.name);
      if (named !== undefined && !query.excluded.includes(named)) {
        return isFree(named, query) ? selected(named) : undefined;
      }
      return placed(room, servingOf(room, selector.name), query);
    }
  }
}

/** Places a request by model name among the participants that serve the model; undefined when none of them is free. */
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

/** The participant of this session. A full participant, or one that failed lately, is skipped for this request only. */
function boundFree(room: Room, query: SelectionQuery): Participant | undefined {
  const { session } = query.prompt;
  if (session === undefined) return undefined;
  const bound = room.placing.sessions.find(session, query.nowMs());
  if (bound === undefined || !isPresent(room, bound)) return undefined;
  if (bound.isStandIn && isLeftToOthers(room, query)) return undefined;
  return isFree(bound, query) && !paceOf(bound, query.protocol).isDoubtful(query.nowMs())
    ? bound
    : undefined;
}

/** Uniform among the free participants. Two passes, because a list would cost more. */
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

function servingOf({ placing, participants }: Room, model: string): readonly Participant[] {
  return placing.serving.serving(model, participants.values()).participants;
}

function isFree(one: Participant, query: SelectionQuery): boolean {
  return hasSlot(one, query) && isRoutable(one, query.nowMs) && canServe(one, query);
}
