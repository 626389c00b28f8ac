import type { ErrorCode, Refusal } from "@roomhub/protocol";
import { capabilityOf, isFull, unroutableReason, type Participant } from "./participant.ts";
import type { Room } from "./room.ts";
import { closest } from "./suggest.ts";

/** The `model` field of a request, read. Interface §4. */
export type Selector =
  | { kind: "any" }
  | { kind: "model"; model: string }
  | { kind: "name"; name: string };

export function parseSelector(text: string): Selector {
  if (text === "*" || text === "any") return { kind: "any" };
  if (text.startsWith("model:")) return { kind: "model", model: text.slice("model:".length) };
  return { kind: "name", name: text };
}

export interface SelectionQuery {
  selector: Selector;
  /** the surface asked for, as capabilities name it */
  protocol: string;
  /** already tried for this request */
  excluded: Participant | undefined;
  /** uniform in `[0, 1)` */
  random: () => number;
}

export type Selection =
  | { kind: "selected"; participant: Participant }
  /** Somebody could serve it, but all who can are full. */
  | { kind: "busy"; candidates: Participant[] }
  | { kind: "refused"; code: ErrorCode; message: string; hint: string; refusals: Refusal[] };

/**
 * Which participant serves a request. Interface §4 and contract §3.
 *
 * An id wins over a model name while it is routable or merely full. Model names match exactly, then without a
 * `:latest` tag on either side.
 */
export function selectParticipant(room: Room, query: SelectionQuery): Selection {
  const { selector } = query;
  const everybody = [...room.participants.values()].filter((one) => one !== query.excluded);
  if (selector.kind === "any") return choose(room, everybody, query);
  if (selector.kind === "model") return byModel(room, everybody, selector.model, query);
  const named = room.participants.get(selector.name);
  if (named === undefined || named === query.excluded) {
    return byModel(room, everybody, selector.name, query);
  }
  const byId = choose(room, [named], query);
  if (byId.kind !== "refused") return byId;
  const instead = byModel(
    room,
    everybody.filter((one) => one !== named),
    selector.name,
    query,
  );
  return instead.kind === "refused" ? byId : instead;
}

/** Whether a failed attempt may be made again elsewhere: not when the client named a participant. Contract §3. */
export function mayMoveElsewhere(room: Room, selector: Selector): boolean {
  return selector.kind !== "name" || !room.participants.has(selector.name);
}

function byModel(
  room: Room,
  among: Participant[],
  model: string,
  query: SelectionQuery,
): Selection {
  const exact = among.filter((one) => one.model === model);
  const tagless = withoutLatest(model);
  const loose = among.filter((one) => one.model !== model && withoutLatest(one.model) === tagless);
  const first = choose(room, exact, query);
  if (first.kind !== "refused" || loose.length === 0) return first;
  const second = choose(room, loose, query);
  return second.kind === "refused" ? choose(room, [...exact, ...loose], query) : second;
}

function choose(room: Room, matched: Participant[], query: SelectionQuery): Selection {
  if (matched.length === 0) return nobody(room, query.selector);
  const able = matched.filter((one) => capabilityOf(one, query.protocol) !== "unsupported");
  if (able.length === 0) {
    return {
      kind: "refused",
      code: "unsupported_protocol",
      message: `${listIds(matched)} cannot serve ${query.protocol}.`,
      hint: `Ask another participant: roomhub participants ${room.code}`,
      refusals: matched.map((one) => refusal(one, `does not support ${query.protocol}`)),
    };
  }
  const routable = able.filter((one) => unroutableReason(one) === undefined);
  if (routable.length === 0) {
    return {
      kind: "refused",
      code: "participant_offline",
      message: `${listIds(able)} cannot be reached now: ${unroutableReason(able[0] as Participant)}.`,
      hint: `See who is there: roomhub participants ${room.code}`,
      refusals: able.map((one) => refusal(one, unroutableReason(one) ?? "")),
    };
  }
  const free = routable.filter((one) => !isFull(one));
  if (free.length === 0) return { kind: "busy", candidates: routable };
  const index = query.selector.kind === "any" ? Math.floor(query.random() * free.length) : 0;
  return { kind: "selected", participant: free[index] as Participant };
}

function nobody(room: Room, selector: Selector): Selection {
  const everybody = [...room.participants.values()];
  const refusals = everybody.map((one) =>
    refusal(one, unroutableReason(one) ?? `serves ${one.model}`),
  );
  if (everybody.length === 0) {
    return {
      kind: "refused",
      code: "model_not_found",
      message: `Nobody has joined room ${room.code} yet.`,
      hint: `Share a model: roomhub join ${room.code}`,
      refusals,
    };
  }
  const wanted =
    selector.kind === "model" ? selector.model : selector.kind === "name" ? selector.name : "*";
  const names = everybody.flatMap((one) => [one.id, one.model]);
  const suggestion = closest(wanted, names);
  return {
    kind: "refused",
    code: "model_not_found",
    message: `Nobody in room ${room.code} has the id or serves the model ${JSON.stringify(wanted.slice(0, 256))}.`,
    hint:
      suggestion === undefined
        ? `Use "*" for anybody, or see the names: roomhub models ${room.code}`
        : `Did you mean ${JSON.stringify(suggestion)}? "*" takes anybody.`,
    refusals,
  };
}

function withoutLatest(model: string): string {
  return model.endsWith(":latest") ? model.slice(0, -":latest".length) : model;
}

function refusal(participant: Participant, reason: string): Refusal {
  return { id: participant.id, model: participant.model, reason };
}

function listIds(participants: Participant[]): string {
  const shown = participants.slice(0, 3).map((one) => one.id);
  return shown.join(", ") + (participants.length > shown.length ? " and others" : "");
}
