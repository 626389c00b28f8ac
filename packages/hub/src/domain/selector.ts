import { isSameModel, type Refusal, SURFACES, withoutLatest } from "@roomhub/protocol";
import { aliasCommand, closest } from "./suggest.ts";
import { exactFirst } from "./placement/serving-index.ts";
import { withBar } from "./needs/bar.ts";
import { canServe, hasRequired } from "./needs/can-serve.ts";
import { requiredWords } from "./needs/abilities.ts";
import { isPermitted, type Permits } from "./needs/demand.ts";
import { capabilityOf, type Participant } from "./participant.ts";
import { placed, selectAtOnce } from "./select-at-once.ts";
import { isAwaited, isResting, isRoutable, readinessOf, unroutableReason } from "./readiness.ts";
import type { Room } from "./room.ts";
import {
  hasSlot,
  type Selection,
  type SelectionQuery,
  type Selector,
  isLeftToOthers,
} from "./selection-query.ts";

/**
 * Which participant serves a request. Interface §4 and contract §3.
 *
 * An id wins over a model name while it is routable or merely full. Model names match exactly, then without a
 * `:latest` tag on either side.
 */
export function selectParticipant(room: Room, asked: SelectionQuery): Selection {
  if (asked.only !== undefined) return selectByRule(room, asked);
  const query = withBar(room, asked);
  return selectAtOnce(room, query) ?? selectByRule(room, query);
}

/** The participants that a request waits for while none has a free slot; none where it is refused. */
export function candidatesFor(room: Room, query: SelectionQuery): readonly Participant[] {
  const selection = selectByRule(room, withBar(room, query), () => false);
  return selection.kind === "busy" ? selection.candidates : [];
}

/** The same by looking at all participants, with the reasons of a refusal. */
export function selectByRule(
  room: Room,
  query: SelectionQuery,
  isFree: (candidate: Participant) => boolean = (one) =>
    hasSlot(one, query) && !isAwaited(one, query.nowMs),
): Selection {
  const { selector, only } = query;
  const present = only === undefined ? [...room.participants.values()] : [only];
  const matched = matching(
    present.filter((one) => !query.excluded.includes(one)),
    selector,
  );
  const [named, ...others] = matched;
  if (named === undefined || !isNamed(named, selector)) {
    return choose(room, matched, query, isFree);
  }
  const byId = choose(room, [named], query, isFree);
  if (byId.kind !== "refused" || others.length === 0) return byId;
  const instead = choose(room, others, query, isFree);
  return instead.kind === "refused" ? choose(room, matched, query, isFree) : instead;
}

/**
 * The participants that match a selector, in order: the id first, then the participants that serve a model of that
 * name.
 */
export function matching(among: Participant[], selector: Selector): Participant[] {
  if (selector.kind === "any") return among;
  if (selector.kind === "model") return servingModel(among, selector.model);
  const serving = servingModel(among, selector.name);
  const named = among.find((one) => isNamed(one, selector));
  return named === undefined ? serving : [named, ...serving.filter((one) => one !== named)];
}

/** Whether a selector names this participant by its id. */
export function isNamed(participant: Participant, selector: Selector): boolean {
  return selector.kind === "name" && selector.name === participant.id;
}

/** Whether a failed attempt may be made again elsewhere: not when the client named this participant. Contract §3. */
export function mayMoveElsewhere(selector: Selector, failed: Participant): boolean {
  return !isNamed(failed, selector);
}

/**
 * The participants that serve a model: the exact name first, then names that differ by a `:latest` tag, each in join
 * order.
 */
function servingModel(among: Participant[], model: string): Participant[] {
  return exactFirst(
    among.filter((one) => isSameModel(one.model, model)),
    model,
  );
}

function choose(
  room: Room,
  all: Participant[],
  query: SelectionQuery,
  isFree: (candidate: Participant) => boolean,
): Selection {
  if (all.length === 0) return noMatch(room, query);
  const matched = all.filter((one) => isPermitted(one, query.demand));
  if (matched.length === 0) return notPermitted(room, query);
  const supporting = matched.filter((one) => capabilityOf(one, query.protocol) !== "unsupported");
  if (supporting.length === 0) {
    return {
      kind: "refused",
      code: "unsupported_protocol",
      message: `${listIds(matched)} cannot serve ${pathOf(query.protocol)}: ${lacking(matched)}.${having(room, query)}`,
      hint: `Use another participant: roomhub participants ${room.code}`,
      refusals: matched.map((one) => refusal(one, unsupported(query.protocol))),
    };
  }
  const able = supporting.filter((one) => hasRequired(one, query.demand));
  if (able.length === 0) return capabilityMissing(room, supporting, query);
  const willing = query.spare === undefined ? able : able.filter((one) => one.batches !== false);
  if (willing.length === 0) return batchRefused(room, able);
  const isLeft = isLeftToOthers(room, query);
  const candidates = willing.filter(
    (one) =>
      canServe(one, query) &&
      !(isLeft && one.isStandIn) &&
      (isRoutable(one, query.nowMs) || isAwaited(one, query.nowMs)),
  );
  if (candidates.length === 0) return unreachable(room, matched, willing, query);
  const free = candidates.filter(isFree);
  if (free.length === 0) return { kind: "busy", candidates };
  const { selector, random } = query;
  const named = selector.kind === "name" && matched.length > 1;
  const chosen = named ? placed(room, candidates, query) : undefined;
  if (chosen !== undefined) return chosen;
  const index = selector.kind === "any" ? Math.floor(random() * free.length) : 0;
  return { kind: "selected", participant: free[index] as Participant };
}

/** Who has the surface, for a client that named others. */
function having(room: Room, { protocol, demand }: SelectionQuery): string {
  const able = permittedIn(room, demand).filter(
    (one) => capabilityOf(one, protocol) === "supported",
  );
  return able.length === 0 ? "" : ` ${listIds(able)} can.`;
}

/** The request selects none of the models that its key is for. Contract §9. */
function notPermitted(room: Room, { selector, demand: { models } }: SelectionQuery): Selection {
  const wanted =
    selector.kind === "model" ? selector.model : selector.kind === "name" && selector.name;
  const named = wanted === false ? undefined : JSON.stringify(wanted.slice(0, 256));
  const none = named === undefined ? "No participant" : `No participant for ${named}`;
  return {
    kind: "refused",
    code: "not_allowed",
    message:
      models === undefined
        ? `${none} serves the holder of this key in room ${room.code}.`
        : `This key permits ${listed(models, 16)} in room ${room.code}. ${named ?? none} serves none of them.`,
    hint: `List what it permits: roomhub models ${room.code}`,
    refusals: [],
  };
}

/** A feature that is not known counts as missing. Contract §3, "What a request needs". */
function capabilityMissing(
  room: Room,
  supporting: Participant[],
  { demand }: SelectionQuery,
): Selection {
  const having = permittedIn(room, demand).filter((one) => hasRequired(one, demand));
  const required = requiredWords(demand.requires).join(", ");
  const others =
    having.length === 0
      ? "No participant of the room is known to have that"
      : `Use ${listIds(having)}`;
  return {
    kind: "refused",
    code: "capability_missing",
    message: `${listIds(supporting)} cannot serve a request that requires ${required}. ${others}.`,
    hint: `See what each model can do: roomhub participants ${room.code}`,
    refusals: supporting.map((one) =>
      refusal(
        one,
        `lacks ${requiredWords(demand.requires & ~one.learned.abilities[3]).join(", ")}`,
      ),
    ),
  };
}

/** Contract §3, "Batches". @param able - at least one */
function batchRefused(room: Room, able: Participant[]): Selection {
  const serve = able.length === 1 ? "serves" : "serve";
  return {
    kind: "refused",
    code: "batch_refused",
    message: `${listIds(able)} ${serve} no requests of batches.`,
    hint: `Use another participant: roomhub participants ${room.code}`,
    refusals: able.map((one) => refusal(one, "serves no requests of batches")),
  };
}

/** @param able - the matched participants that serve the protocol, at least one */
function unreachable(
  room: Room,
  matched: Participant[],
  able: Participant[],
  query: SelectionQuery,
): Selection {
  const nowMs = query.nowMs();
  const refusals = matched.map((one) =>
    refusal(one, unroutableReason(one, nowMs) ?? unsupported(query.protocol)),
  );
  if (able.every((one) => readinessOf(one) === "needs-credentials")) {
    return {
      kind: "refused",
      code: "provider_auth_failed",
      message: `The model server of ${listIds(able)} requires credentials.`,
      hint: `Join again with its key: roomhub join ${room.code} --header-env Authorization=VARIABLE`,
      refusals,
    };
  }
  const resting = able.filter((one) => readinessOf(one) === "ready" && isResting(one, query.nowMs));
  if (resting.length > 0) {
    const untilMs = Math.min(...resting.map(({ load: { restsUntilMs } }) => restsUntilMs ?? nowMs));
    return {
      kind: "refused",
      code: "budget_exhausted",
      message: `The budget of ${listIds(resting)} is used up. Try again in ${inWords(untilMs - nowMs)}.`,
      hint: `List the participants: roomhub participants ${room.code}`,
      refusals,
      retryAfterMs: untilMs - nowMs,
    };
  }
  return {
    kind: "refused",
    code: "participant_offline",
    message: `${listIds(able)} cannot be reached now: ${asSentence(unroutableReason(able[0] as Participant, nowMs) ?? "")}`,
    hint: `List the participants: roomhub participants ${room.code}`,
    refusals,
  };
}

/** The participants that a request may know of. */
export function permittedIn({ participants }: Room, demand: Permits): Participant[] {
  return [...participants.values()].filter((one) => isPermitted(one, demand));
}

function noMatch(room: Room, { selector, demand, nowMs }: SelectionQuery): Selection {
  const participants = permittedIn(room, demand);
  const now = nowMs();
  const refusals = participants.map((one) =>
    refusal(one, unroutableReason(one, now) ?? `serves ${one.model}`),
  );
  if (room.participants.size === 0) {
    return {
      kind: "refused",
      code: "model_not_found",
      message: `No participant has joined room ${room.code} yet.`,
      hint: `Share a model: roomhub join ${room.code}`,
      refusals,
    };
  }
  const wanted =
    selector.kind === "model" ? selector.model : selector.kind === "name" ? selector.name : "*";
  // People type names without their tag.
  const names = participants.flatMap((one) => [withoutLatest(one.model), one.model, one.id]);
  const near = closest(wanted, names);
  const command = aliasCommand(room, wanted);
  // In the message, because an SDK shows nothing else.
  const suggestion =
    command !== undefined
      ? ` To serve it here: ${command}`
      : near === undefined
        ? ""
        : ` Did you mean ${JSON.stringify(near)}?`;
  return {
    kind: "refused",
    code: "model_not_found",
    message: `No participant in room ${room.code} has the id or serves the model ${JSON.stringify(wanted.slice(0, 256))}.${suggestion}`,
    hint: `Use "*" for any participant, or list the names: roomhub models ${room.code}`,
    refusals,
  };
}

function lacking(matched: Participant[]): string {
  return matched.length === 1
    ? "its model server does not support it"
    : "their model servers do not support it";
}

function unsupported(protocol: string): string {
  return `does not support ${pathOf(protocol)}`;
}

/** What clients know the surface by: `/responses` for `openResponses`. */
function pathOf(protocol: string): string {
  return `/${SURFACES.find(({ capability }) => capability === protocol)?.path ?? protocol}`;
}

function inWords(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

/** The reason of a path may end in a question. */
function asSentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

function refusal(participant: Participant, reason: string): Refusal {
  return { id: participant.id, model: participant.model, reason };
}

function listIds(participants: Participant[]): string {
  return listed(
    participants.map((one) => one.id),
    3,
  );
}

function listed(names: readonly string[], most: number): string {
  return names.slice(0, most).join(", ") + (names.length > most ? " and others" : "");
}
