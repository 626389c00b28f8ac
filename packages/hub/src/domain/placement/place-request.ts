import { canServe, expectedTokens, tokensFor } from "../needs/can-serve.ts";
import { mustLoad, paceOf, type Participant } from "../participant.ts";
import { type Placement, type PlacementCandidate, place } from "./placement.ts";
import { isRoutable } from "../readiness.ts";
import type { Room } from "../room.ts";
import { hasSlot, type SelectionQuery } from "../selection-query.ts";

/** A participant as a candidate for one request. */
export interface Candidate extends PlacementCandidate {
  readonly participant: Participant;
}

export function candidateFor(
  participant: Participant,
  warmBytes: number,
  { held, demand, protocol, spare }: Pick<SelectionQuery, "held" | "demand" | "protocol" | "spare">,
): Candidate {
  const { load } = participant;
  const { machine, awaited } = load;
  return {
    participant,
    isFree: hasSlot(participant, { spare }),
    active: machine?.active ?? load.active,
    limit: machine === undefined ? load.limit : Math.min(load.limit, machine.limit),
    startedMs: (machine ?? load).startedMs,
    // Of the requests that wait for it, the request itself is one.
    awaited: held?.participant === participant ? Math.min(held.ahead, awaited - 1) : awaited,
    warmBytes,
    mustLoad: mustLoad(participant),
    mayBeTooSmall: expectedTokens(participant, demand) > tokensFor(participant, demand),
    pace: paceOf(participant, protocol),
  };
}

/** More free participants than this are sampled, which limits the cost of a request in a large room. */
const maxCompared = 32;

/**
 * Where a request by model name goes now.
 *
 * @param serving - the participants that serve the model, in join order
 */
export function placeRequest(
  room: Room,
  serving: readonly Participant[],
  query: SelectionQuery,
): Placement<Candidate> {
  const nowMs = query.nowMs();
  const warm = room.placing.warm.warmBytes(query.prompt, nowMs);
  const candidates = comparedCandidates(serving, warm, query);
  const { form, holdUntilMs, prompt } = query;
  return place(candidates, { promptBytes: prompt.bytes, form, nowMs, holdUntilMs });
}

/** At most 32 free participants from a random one on, and every participant that holds the prompt warm. */
function comparedCandidates(
  serving: readonly Participant[],
  warm: ReadonlyMap<Participant, number>,
  query: SelectionQuery,
): Candidate[] {
  const candidates: Candidate[] = [];
  const isSampled = serving.length > maxCompared;
  const from = isSampled ? Math.floor(query.random() * serving.length) : 0;
  let free = 0;
  for (let step = 0; step < serving.length && free < maxCompared; step++) {
    const one = serving[(from + step) % serving.length] as Participant;
    if (warm.has(one) || !hasSlot(one, query) || !mayServe(one, query)) continue;
    free++;
    candidates.push(candidateFor(one, 0, query));
  }
  if (candidates.some((one) => one.mustLoad)) {
    candidates.push(...loadedBusyOnes(serving, warm, query));
  }
  if (warm.size === 0) return isSampled ? candidates : inOrderOf(serving, candidates);
  const warmOnes = serving.length <= warm.size ? serving : [...warm.keys()];
  for (const one of warmOnes) {
    const bytes = warm.get(one);
    if (bytes !== undefined && mayServe(one, query) && serving.includes(one)) {
      candidates.push(candidateFor(one, bytes, query));
    }
  }
  return isSampled ? candidates : inOrderOf(serving, candidates);
}

/** Participants at capacity whose model is loaded: one of them may be free before another has loaded it. */
function loadedBusyOnes(
  serving: readonly Participant[],
  warm: ReadonlyMap<Participant, number>,
  query: SelectionQuery,
): Candidate[] {
  return serving
    .filter(
      (one) => !hasSlot(one, query) && !mustLoad(one) && !warm.has(one) && mayServe(one, query),
    )
    .slice(0, maxCompared)
    .map((one) => candidateFor(one, 0, query));
}

function inOrderOf(serving: readonly Participant[], candidates: Candidate[]): Candidate[] {
  if (candidates.length < 2) return candidates;
  return candidates.sort(
    (one, other) => serving.indexOf(one.participant) - serving.indexOf(other.participant),
  );
}

/** Whether a participant may serve the request, now or once a slot is free. */
function mayServe(one: Participant, query: SelectionQuery): boolean {
  return isRoutable(one, query.nowMs) && canServe(one, query);
}
