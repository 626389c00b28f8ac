import type { Pace, ResponseForm } from "./pace.ts";

/** One participant that could serve a request, as placement sees it. */
export interface PlacementCandidate {
  /** A slot is free, of the participant and of its machine. */
  isFree: boolean;
  /** requests that run there */
  active: number;
  /** requests that may run there at once */
  limit: number;
  /** when the requests that run there began, in ms on the hub's clock */
  startedMs: readonly number[];
  /** requests that wait for this participant and no other */
  awaited: number;
  /** bytes of the prompt that it may still hold in its cache */
  warmBytes: number;
  /** Its model server reports that the model is not loaded. */
  mustLoad: boolean;
  /** By what prompts like this one have measured, it is too long for its context. */
  mayBeTooSmall: boolean;
  pace: Pace;
}

export interface PlacementQuery {
  promptBytes: number;
  form: ResponseForm;
  nowMs: number;
  /** A request may wait for a warm participant until then; undefined when it has not waited yet. */
  holdUntilMs: number | undefined;
}

export type Placement<Candidate> =
  | { kind: "take"; candidate: Candidate }
  /** It waits for a participant that holds its prompt warm, though another is free. */
  | { kind: "hold"; candidate: Candidate; untilMs: number }
  | { kind: "full" };

/** What is expected of one candidate, in ms. */
interface Expectation {
  /** until one of its slots is free; undefined when no request was measured there */
  waitMs: number | undefined;
  /** from its slot to the first content; undefined when too little was measured there */
  firstMs: number | undefined;
}

/** Loading a model, until it was measured. */
const assumedLoadMs = 5_000;
/** A smaller gain is within the error of the estimate: no request waits and no conversation moves for it. */
const leastGainMs = 50;
/** Less is only a system prompt in common with other conversations. */
const leastWarmShare = 0.5;

/**
 * Where a request by model name goes: to the candidate with the least expected time to its first content. Contract §3,
 * "Placement". An unmeasured candidate is expected to be as fast as the best, and comes first, so that it is tried.
 * Ties go to the first.
 *
 * @param candidates - in join order
 */
export function place<Candidate extends PlacementCandidate>(
  candidates: readonly Candidate[],
  query: PlacementQuery,
): Placement<Candidate> {
  const sure = candidates.filter((one) => !one.mayBeTooSmall && !one.pace.isDoubtful(query.nowMs));
  const best = bestFree(sure, query) ?? bestFree(candidates, query);
  if (best === undefined) return { kind: "full" };
  const warm = bestBusy(sure, best.candidate, query);
  if (warm === undefined) return { kind: "take", candidate: best.candidate };
  const untilMs = query.holdUntilMs ?? query.nowMs + best.expectedMs - warm.firstMs;
  const isWorthIt = warm.expectedMs + leastGainMs < best.expectedMs && query.nowMs < untilMs;
  return isWorthIt
    ? { kind: "hold", candidate: warm.candidate, untilMs }
    : { kind: "take", candidate: best.candidate };
}

/** What a request can expect of a candidate, as far as it was measured. */
export function expectationOf(
  candidate: PlacementCandidate,
  { promptBytes, form, nowMs }: Pick<PlacementQuery, "promptBytes" | "form" | "nowMs">,
): Expectation {
  const { isFree, pace, startedMs, awaited, mustLoad, warmBytes } = candidate;
  const coldBytes = mustLoad ? promptBytes : Math.max(0, promptBytes - warmBytes);
  const measuredMs = pace.expectedFirstMs(form, coldBytes, nowMs);
  return {
    waitMs: isFree ? 0 : pace.expectedSlotMs(startedMs, awaited, nowMs),
    firstMs: measuredMs === undefined ? undefined : measuredMs * crowding(candidate),
  };
}

/** A warm candidate that is full. */
interface ExpectedWarm<Candidate> extends Expected<Candidate> {
  /** of its expected time, what follows the wait */
  firstMs: number;
}

interface Expected<Candidate> {
  candidate: Candidate;
  expectedMs: number;
}

function bestFree<Candidate extends PlacementCandidate>(
  candidates: readonly Candidate[],
  query: PlacementQuery,
): Expected<Candidate> | undefined {
  let best: Expected<Candidate> | undefined;
  let warm: Expected<Candidate> | undefined;
  let unmeasured: Candidate | undefined;
  const coldMs = bestColdMs(candidates, query);
  for (const candidate of candidates) {
    if (!candidate.isFree) continue;
    const { firstMs } = expectationOf(candidate, query);
    if (!candidate.mustLoad && isTriedFirst(candidate, query, firstMs, coldMs)) {
      if (unmeasured === undefined || suitsBetter(candidate, unmeasured)) unmeasured = candidate;
      continue;
    }
    // Among equals, measured candidates come first.
    const likelyMs = candidate.mustLoad ? 0 : (coldMs ?? 0) * crowding(candidate) + leastGainMs;
    const expected = { candidate, expectedMs: (firstMs ?? likelyMs) + loadingMs(candidate) };
    if (best === undefined || expected.expectedMs < best.expectedMs) best = expected;
    const isBestWarm = warm === undefined || expected.expectedMs < warm.expectedMs;
    if (isWarm(candidate, query) && isBestWarm) warm = expected;
  }
  if (unmeasured !== undefined && isWarm(unmeasured, query)) {
    return { candidate: unmeasured, expectedMs: 0 };
  }
  // A conversation is not moved for a gain within the error of the estimate.
  if (warm !== undefined && warm.expectedMs <= (best?.expectedMs ?? 0) + leastGainMs) return warm;
  if (unmeasured === undefined) return best;
  const expectedMs = coldMs ?? 0;
  const isTried = best === undefined || expectedMs <= best.expectedMs;
  return isTried ? { candidate: unmeasured, expectedMs } : best;
}

function isTriedFirst(
  { pace, warmBytes }: PlacementCandidate,
  { promptBytes, form, nowMs }: PlacementQuery,
  firstMs: number | undefined,
  coldMs: number | undefined,
): boolean {
  // When no candidate was measured, there is nothing to compare.
  if (firstMs === undefined && coldMs === undefined) return true;
  return pace.isUntried(form, Math.max(0, promptBytes - warmBytes), nowMs);
}

function isWarm({ warmBytes, mustLoad }: PlacementCandidate, { promptBytes }: PlacementQuery) {
  return warmBytes > 0 && !mustLoad && warmBytes >= leastWarmShare * promptBytes;
}

/** Which of two unmeasured candidates suits better. */
function suitsBetter(one: PlacementCandidate, other: PlacementCandidate): boolean {
  if (one.warmBytes !== other.warmBytes) return one.warmBytes > other.warmBytes;
  return crowding(one) < crowding(other);
}

/** The time in which the fastest candidate computes the whole prompt. */
function bestColdMs(
  candidates: readonly PlacementCandidate[],
  { form, promptBytes, nowMs }: PlacementQuery,
): number | undefined {
  let least: number | undefined;
  for (const { pace } of candidates) {
    const ms = pace.expectedFirstMs(form, promptBytes, nowMs);
    if (ms !== undefined && (least === undefined || ms < least)) least = ms;
  }
  return least;
}

/**
 * The full candidate that is worth waiting for: it holds the prompt warm, or has the model loaded where the best free
 * candidate would load it first. The least expected time wins, where it is known.
 */
function bestBusy<Candidate extends PlacementCandidate>(
  candidates: readonly Candidate[],
  bestFreeOne: Candidate,
  query: PlacementQuery,
): ExpectedWarm<Candidate> | undefined {
  let best: ExpectedWarm<Candidate> | undefined;
  for (const candidate of candidates) {
    const savesLoading = bestFreeOne.mustLoad && !candidate.mustLoad;
    if (candidate.isFree || !(savesLoading || isWarm(candidate, query))) continue;
    const { waitMs, firstMs } = expectationOf(candidate, query);
    if (waitMs === undefined || firstMs === undefined) continue;
    const expectedMs = waitMs + firstMs;
    if (best === undefined || expectedMs < best.expectedMs)
      best = { candidate, expectedMs, firstMs };
  }
  return best;
}

function loadingMs({ mustLoad, pace }: PlacementCandidate): number {
  return mustLoad ? (pace.loadMs ?? assumedLoadMs) : 0;
}

/** Slots share their machine: running requests slow this one down in proportion to their number. */
function crowding({ active, limit }: PlacementCandidate): number {
  return 1 + Math.min(1, active / limit);
}
