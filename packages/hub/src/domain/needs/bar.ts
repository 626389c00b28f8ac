import { RARE_CAPABILITIES } from "@roomhub/protocol";
import type { Bar, Demand } from "./demand.ts";
import { canServe, tokensFor } from "./can-serve.ts";
import { expireRefused } from "./model-facts.ts";
import type { Level } from "./abilities.ts";
import type { Participant } from "../participant.ts";
import { type Serving, servingOf } from "../placement/serving-index.ts";
import { isAwaited, isRoutable } from "../readiness.ts";
import type { Room } from "../room.ts";
import { isLeftToOthers, type SelectionQuery, type Selector } from "../selection-query.ts";

/**
 * The query with the bar for its candidates. Contract §3, "What a request needs": a participant that is known to be unable
 * gets the request only while none that is able can be reached, and then the one with the largest context; by a bare model
 * name, those come first whose features can be relied on most.
 */
export function withBar(room: Room, query: SelectionQuery): SelectionQuery {
  const { selector, demand, only, isByAlias } = query;
  if (only !== undefined) return query;
  // A participant that the request names gets it.
  if (selector.kind === "name" && !isByAlias && room.participants.has(selector.name)) return query;
  const top: Level = selector.kind === "name" ? 3 : 1;
  const tokens = isTight(room, query) ? demand.leastTokens() : 0;
  const isKnown = isKnownElsewhere(room, query);
  if (tokens === 0 && !isKnown && !isMixed(room, query, top)) return query;
  return { ...query, bar: { ...barOf(room, query, tokens, top), isKnown } };
}

/** Whether a request for any participant can go to one that is known to have its surface, which few have. */
function isKnownElsewhere(room: Room, query: SelectionQuery): boolean {
  if (query.selector.kind !== "any" || !RARE_CAPABILITIES.has(query.protocol)) return false;
  const known = { ...query, bar: { tokens: 0, level: 0, isKnown: true } as const };
  return [...room.participants.values()].some(
    (one) => canServe(one, known) && (isRoutable(one, query.nowMs) || isAwaited(one, query.nowMs)),
  );
}

/** Whether the request may be too long for a participant that it could go to. */
export function isTight(room: Room, { selector, demand, only }: SelectionQuery): boolean {
  if (only !== undefined) return false;
  const { participants, leastTokens } = candidatesOf(room, selector);
  const { mostTokens, outputTokens } = demand;
  if (leastTokens - outputTokens >= mostTokens) return false;
  return participants.some((one) => tokensFor(one, demand) < mostTokens);
}

/** Whether there are candidates that lack, or may lack, a feature that it uses. */
function isMixed(room: Room, { selector, demand: { uses } }: SelectionQuery, top: Level): boolean {
  return (uses & ~candidatesOf(room, selector).abilities[top]) !== 0;
}

function barOf(room: Room, query: SelectionQuery, tokens: number, top: Level): Bar {
  const { selector, demand, nowMs, isStrict } = query;
  const isLeft = isLeftToOthers(room, query);
  let best: Level | undefined;
  let largest = Number.NEGATIVE_INFINITY;
  for (const one of candidatesOf(room, selector).participants) {
    expireRefused(one, nowMs());
    if (isLeft && one.isStandIn) continue;
    if (!canServe(one, query) || !(isRoutable(one, nowMs) || isAwaited(one, nowMs))) continue;
    const has = tokensFor(one, demand);
    largest = Math.max(largest, has);
    if (has < tokens) continue;
    const level = levelOf(one, demand, top);
    if (best === undefined || level > best) best = level;
  }
  if (isStrict) return { tokens, level: best === undefined || best < 1 ? 1 : best };
  return best === undefined ? { tokens: largest, level: 0 } : { tokens, level: best };
}

/** The level at which a participant has all features that the request uses. */
function levelOf({ learned }: Participant, { uses }: Demand, top: Level): Level {
  const lacksAt = (level: Level) => (uses & ~learned.abilities[level]) !== 0;
  let level = top;
  while (level > 0 && lacksAt(level)) level--;
  return level;
}

function candidatesOf({ participants, placing }: Room, selector: Selector): Serving {
  if (selector.kind === "any") return placing.serving.all(participants.values());
  const name = selector.kind === "model" ? selector.model : selector.name;
  const serving = placing.serving.serving(name, participants.values());
  const named = selector.kind === "name" ? participants.get(name) : undefined;
  return named === undefined ? serving : servingOf([named, ...serving.participants]);
}
