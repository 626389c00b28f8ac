import {
  ERROR_STATUS,
  type InferenceProtocol,
  type RouteCandidate,
  type RouteExplanation,
  type RouteAlias,
  type RouteExpectation,
} from "@roomhub/protocol";
import {
  type ModelField,
  readModelField,
  selectTarget,
  selectorText,
} from "../domain/aliases/model-field.ts";
import { withBar } from "../domain/needs/bar.ts";
import { canServe, mayTruncate } from "../domain/needs/can-serve.ts";
import { type Demand, mostBytesPerToken, noDemand, type Permits } from "../domain/needs/demand.ts";
import { isFull } from "../domain/slots.ts";
import { paceOf, type Participant } from "../domain/participant.ts";
import {
  doubtOf,
  isAwaited,
  isLoading,
  isOverloaded,
  unroutableReason,
} from "../domain/readiness.ts";
import type { Room } from "../domain/room.ts";
import { areBatchTokensSpent, SpareSlots } from "../domain/placement/spare-slots.ts";
import {
  hasSlot,
  type Hold,
  plainQuery,
  type Selection,
  type SelectionQuery,
  type Selector,
  isLeftToOthers,
} from "../domain/selection-query.ts";
import {
  isNamed,
  matching,
  mayMoveElsewhere,
  permittedIn,
  selectParticipant,
} from "../domain/selector.ts";
import { connectionView, loadView } from "../domain/views.ts";
import type { OperationContext } from "./context.ts";
import type { ResponseForm } from "../domain/placement/pace.ts";
import { candidateFor } from "../domain/placement/place-request.ts";
import { expectationOf } from "../domain/placement/placement.ts";

interface Question {
  /** a request's `model` field */
  model: string;
  protocol: InferenceProtocol;
  session?: string | undefined;
  promptBytes: number;
  /** the features that its sender requires, as bits */
  requires: number;
  priority?: "batch" | "interactive" | undefined;
  permits?: Permits | undefined;
  /** requests of that priority that wait in the room already */
  waiting: number;
}

/**
 * Where a request would go now, and why: by the selection that requests go through. Changes nothing.
 *
 * @throws HubError `room_not_found`
 */
export function explainRoute(
  context: OperationContext,
  code: string,
  { model, protocol, session, promptBytes, requires, priority, permits, waiting }: Question,
): RouteExplanation {
  const { registry, limits, nowMs, wallMs, keyedHash } = context;
  const room = registry.room(code);
  const field = readModelField(room, model);
  const key = session === undefined ? undefined : keyedHash(`session ${room.code}`, session);
  const prompt = { session: key, borders: [], bytes: promptBytes };
  const tokens = promptBytes / mostBytesPerToken;
  const sized = { mostTokens: tokens, leastTokens: () => tokens, requires };
  const demand = { ...noDemand, ...sized, ...permits };
  const spare = priority === "batch" ? new SpareSlots(room, nowMs, wallMs) : undefined;
  const queryFor = (target: Selector, isStrict = false): SelectionQuery => ({
    ...plainQuery(target, protocol, nowMs, prompt, demand),
    ...{ isByAlias: field.alias !== undefined, isStrict, spare },
  });
  const { selection: found, place } = selectTarget(room, field, 0, queryFor);
  // A refusal is shown with the first target.
  const selector = field.targets[found.kind === "refused" ? 0 : place] ?? field.targets[0];
  const query = queryFor(selector);
  const selection = withFullQueue(found, waiting, limits.queuePerRoom);
  const all = permittedIn(room, demand);
  const matched = matching(all, selector);
  const first = firstOf(selection);
  const next = first === undefined ? undefined : nextAfter(room, first, field, place, query);
  const matchedSet = new Set(matched);
  const others = all.filter((one) => !matchedSet.has(one));
  const hold = selection.kind === "busy" ? selection.hold : undefined;
  const scene = { room, query: withBar(room, query), first, next, hold, wallMs };
  const readAs = readingOf(selector, matched);
  const expectedOf = (one: Participant) =>
    readAs === "model" && selector.kind === "name"
      ? { expected: routeExpectation(room, one, query) }
      : {};
  return {
    roomCode: room.code,
    model,
    protocol,
    ...explainAlias(room, field, selector, queryFor),
    readAs,
    outcome: outcomes[selection.kind],
    participants: [
      ...matched.map((one) => ({
        ...candidate(one, verdictOn(one, scene), nowMs(), demand),
        ...expectedOf(one),
      })),
      ...others.map((one) => candidate(one, ["passed-over", `serves ${one.model}`], nowMs())),
    ],
    queue: {
      ...{ waiting, limit: limits.queuePerRoom },
      waitMs: spare === undefined ? limits.queueWaitMs : limits.batchWaitMs,
    },
    ...(first === undefined
      ? {}
      : { onFailure: failureOf(query, first, next, place < field.targets.length - 1) }),
    ...(selection.kind === "refused" ? { refusal: refusalOf(selection) } : {}),
  };
}

const outcomes = { selected: "asked", busy: "waits", refused: "refused" } as const;

/** A request that would have to wait where no more may is refused. */
function withFullQueue(selection: Selection, waiting: number, limit: number): Selection {
  if (selection.kind !== "busy" || waiting < limit) return selection;
  return {
    kind: "refused",
    code: "queue_full",
    message: `All matching participants are at capacity or loading, and ${waiting} requests are already queued in this room.`,
    hint: "Try again shortly, or let more participants join.",
    refusals: [],
  };
}

function firstOf(selection: Selection): Participant | undefined {
  if (selection.kind === "selected") return selection.participant;
  return selection.kind === "busy" ? selection.candidates[0] : undefined;
}

/** Which participant gets the next attempt, as the hub would choose it after a failure. Contract §3. */
function nextAfter(
  room: Room,
  failed: Participant,
  field: ModelField,
  place: number,
  query: SelectionQuery,
): Participant | undefined {
  const isLastTarget = place === field.targets.length - 1;
  if (isLastTarget && !mayMoveElsewhere(query.selector, failed)) return undefined;
  const excluded = [failed];
  const { selection } = selectTarget(room, field, place, (selector) => ({
    ...query,
    selector,
    excluded,
  }));
  return firstOf(selection);
}

function readingOf(selector: Selector, [first]: Participant[]): RouteExplanation["readAs"] {
  if (selector.kind === "any") return "any";
  return first !== undefined && isNamed(first, selector) ? "id" : "model";
}

interface Scene {
  room: Room;
  /** epoch ms */
  wallMs: () => number;
  query: SelectionQuery;
  /** the participant that gets the request, or that it waits for; undefined when the request is refused */
  first: Participant | undefined;
  /** The request waits for this participant, though another is free. */
  hold: Hold | undefined;
  /** the participant that gets the request when that one fails */
  next: Participant | undefined;
}

type Verdict = [RouteCandidate["verdict"], reason: string];

/** Runs the selection for this participant alone, and compares the result with the first participant. */
function verdictOn(participant: Participant, scene: Scene): Verdict {
  const { room, query, first, next, hold, wallMs } = scene;
  const alone = selectParticipant(room, { ...query, only: participant });
  if (alone.kind === "refused") {
    return ["passed-over", alone.refusals[0]?.reason ?? alone.message];
  }
  if (!canServe(participant, query)) {
    const { tokens } = participant.learned.context ?? {};
    return ["passed-over", `its context of ${tokens} tokens is too small for the prompt`];
  }
  if (alone.kind === "busy" && isLoading(participant)) {
    const reason = unroutableReason(participant, query.nowMs());
    return ["loading", `${reason}; a request waits until it is ready`];
  }
  if (alone.kind === "busy" && participant.load.isCongested) {
    return ["full", "its agent reads too slowly: a request waits until it has read what was sent"];
  }
  if (alone.kind === "busy" && isOverloaded(participant, query.nowMs)) {
    return ["full", "its model server responded 503: a request waits a moment"];
  }
  if (participant === hold?.participant) {
    const ms = Math.round(hold.untilMs - query.nowMs());
    return ["full", `has the session in its cache: a request waits up to ${ms} ms for it`];
  }
  if (alone.kind === "busy") {
    const reason = isFull(participant) ? fullReason(participant) : keptReason(participant, wallMs);
    return ["full", reason];
  }
  if (participant.isStandIn && isLeftToOthers(room, query)) {
    return ["passed-over", "a stand-in: only while no other participant can serve the request"];
  }
  if (query.selector.kind === "any") {
    return next === undefined || !hasSlot(next, query) || isAwaited(next, query.nowMs)
      ? ["asked", "the only one available now"]
      : ["random", "one of these, at random"];
  }
  const { selector } = query;
  if (participant === first) {
    return [
      "asked",
      isNamed(participant, selector) ? "has that id" : `serves ${participant.model}`,
    ];
  }
  if (participant === next) return ["next", `takes over if ${first?.id} fails before it responds`];
  return first !== undefined && isNamed(first, selector)
    ? ["standby", `only while ${first.id} cannot be reached: an id comes before a model's name`]
    : ["standby", `comes after ${first?.id}`];
}

/** Why a request of a batch does not run in a free slot. */
function keptReason({ batches, load }: Participant, wallMs: () => number): string {
  if (areBatchTokensSpent(load, wallMs)) {
    return `its ${load.budget?.batchTokensPerDay} tokens a day for batches are used up`;
  }
  const hours = typeof batches === "object" ? `, and serves batches from ${batches.hours} h` : "";
  return `its free slots are kept for interactive requests${hours}`;
}

function fullReason(participant: Participant): string {
  const { active, limit, queued, machine } = loadView(participant);
  const own = `${active} of ${limit} requests running, ${queued} queued for it`;
  if (active >= limit || machine === undefined) return own;
  const others = machine.participants === undefined ? "" : ` ${machine.participants - 1}`;
  return `${own}; ${machine.active} of ${machine.limit} slots of its machine are taken, which it shares with${others} others`;
}

function failureOf(
  query: SelectionQuery,
  first: Participant,
  next: Participant | undefined,
  hasMoreTargets: boolean,
): NonNullable<RouteExplanation["onFailure"]> {
  const { selector } = query;
  if (!hasMoreTargets && !mayMoveElsewhere(selector, first)) {
    return {
      movesTo: null,
      reason: `the request names ${first.id} by its id, so it is not retried elsewhere`,
    };
  }
  if (next === undefined) return { movesTo: null, reason: "no other participant can serve it" };
  if (selector.kind === "any" && !hasMoreTargets) {
    return {
      movesTo: null,
      reason: "it moves to another of them, at most twice, while no response has begun",
    };
  }
  const reason = `it moves to ${next.id} while no response has begun`;
  const waits = !hasSlot(next, query) || isAwaited(next, query.nowMs);
  return { movesTo: next.id, reason: waits ? `${reason}, and waits there` : reason };
}

function refusalOf({
  code,
  message,
  hint,
}: Extract<Selection, { kind: "refused" }>): RouteExplanation["refusal"] {
  return { status: ERROR_STATUS[code].status, code, message, hint };
}

function candidate(
  participant: Participant,
  [verdict, reason]: Verdict,
  nowMs: number,
  demand: Demand = noDemand,
): RouteCandidate {
  const { id, nickname, model, learned } = participant;
  const connection = connectionView(participant, nowMs);
  const doubt = doubtOf(participant);
  const cut = "it may cut the prompt without saying so";
  const reasons = [
    reason,
    ...(doubt === undefined ? [] : [`it ${doubt}`]),
    ...(verdict !== "passed-over" && mayTruncate(participant, demand) ? [cut] : []),
  ].join("; ");
  return {
    ...{ id, nickname, model, verdict, reason: reasons, connection, load: loadView(participant) },
    ...{ context: learned.context, features: learned.features },
  };
}

/**
 * Each target of the alias that a `model` field matches, and why it takes the request or does not; nothing without one.
 *
 * @param chosen - the target that the explanation is about
 */
function explainAlias(
  room: Room,
  { alias: pattern, targets }: ModelField,
  chosen: Selector,
  queryFor: (target: Selector) => SelectionQuery,
): { alias?: RouteAlias } {
  if (pattern === undefined) return {};
  const target = selectorText(chosen);
  const refusals = targets.map((one) => {
    const selection = selectParticipant(room, queryFor(one));
    return selection.kind === "refused" ? selection.message : undefined;
  });
  const taken = refusals.indexOf(undefined);
  const verdictAt = (index: number): Omit<RouteAlias["targets"][number], "target"> => {
    const refusal = refusals[index];
    if (refusal !== undefined) return { verdict: "passed-over", reason: refusal };
    return index === taken
      ? { verdict: "taken", reason: "the first that a participant can serve" }
      : { verdict: "standby", reason: `tried when ${target} cannot serve the request` };
  };
  const verdicts = targets.map((one, index) => ({
    target: selectorText(one),
    ...verdictAt(index),
  }));
  return { alias: { pattern, target, targets: verdicts } };
}

/** What placement expects of one participant for a request by model name. */
function routeExpectation(
  room: Room,
  participant: Participant,
  { prompt, demand, protocol, nowMs, spare }: SelectionQuery,
): RouteExpectation {
  // Without a measured stream, whole responses are the best estimate.
  const pace = paceOf(participant, protocol);
  const form: ResponseForm =
    pace.expectedFirstMs("stream", 0, nowMs()) === undefined ? "whole" : "stream";
  const warm = room.placing.warm.warmBytes(prompt, nowMs()).get(participant) ?? 0;
  const candidate = candidateFor(participant, warm, { held: undefined, demand, protocol, spare });
  const query = { promptBytes: prompt.bytes, form, nowMs: nowMs() };
  const { waitMs, firstMs } = expectationOf(candidate, query);
  const rate = pace.promptBytesPerSecond(form);
  return {
    ...(waitMs === undefined ? {} : { waitMs: Math.round(waitMs) }),
    ...(firstMs === undefined ? {} : { firstTokenMs: Math.round(firstMs) }),
    ...(rate === undefined ? {} : { promptBytesPerSecond: Math.round(rate) }),
    ...(prompt.session === undefined ? {} : { warmBytes: warm }),
  };
}
