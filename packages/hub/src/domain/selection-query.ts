import type { ErrorCode, Refusal } from "@roomhub/protocol";
import { type Bar, type Demand, isPermitted, noDemand } from "./needs/demand.ts";
import type { ResponseForm } from "./placement/pace.ts";
import { type Participant, capabilityOf } from "./participant.ts";
import type { SpareSlots } from "./placement/spare-slots.ts";
import { noPrompt, type Prompt } from "./placement/warm-conversations.ts";
import { isAwaited, isRoutable } from "./readiness.ts";
import type { Room } from "./room.ts";
import { isFull } from "./slots.ts";

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
  /** what the participant must be able to do, as capabilities name it */
  protocol: string;
  /** participants that had this request and do not get it again */
  excluded: readonly Participant[];
  /** what it needs of a model */
  demand: Demand;
  /** what that comes to among the candidates, see `withBar`; undefined when they all have it */
  bar: Bar | undefined;
  /** Its selector is the target of an alias. */
  isByAlias: boolean;
  /** It does not go to participants that are known to be unable, even when there is no other. */
  isStrict: boolean;
  /** the one participant that can serve it; undefined for any */
  only: Participant | undefined;
  /** where the request's prompt may be warm */
  prompt: Prompt;
  form: ResponseForm;
  /**
   * until when it waits for a participant that holds its prompt warm, ms on the hub's clock; undefined before it waited
   */
  holdUntilMs: number | undefined;
  /** the participant that it waits for though another is free, and how many requests waited before it */
  held: { participant: Participant; ahead: number } | undefined;
  /** the only slots that a request of a batch may take; undefined for other requests */
  spare: SpareSlots | undefined;
  /** uniform in `[0, 1)` */
  random: () => number;
  /** ms on the hub's clock */
  nowMs: () => number;
}

export type Selection =
  | { kind: "selected"; participant: Participant }
  /**
   * Some participants could serve it, but all are full or loading; or it waits for one of them that holds its prompt
   * warm.
   */
  | { kind: "busy"; candidates: readonly Participant[]; hold?: Hold }
  | {
      kind: "refused";
      code: ErrorCode;
      message: string;
      hint: string;
      refusals: Refusal[];
      /** when another participant may be ready; undefined when that is not known */
      retryAfterMs?: number;
    };

/** A request waits for one participant, though another is free. */
export interface Hold {
  participant: Participant;
  /** ms on the hub's clock; from then on it takes any */
  untilMs: number;
}

/** A query without a request, to explain routing: it takes the first free participant. */
export function plainQuery(
  selector: Selector,
  protocol: string,
  nowMs: () => number,
  prompt: Prompt = noPrompt,
  demand: Demand = noDemand,
): SelectionQuery {
  return {
    selector,
    protocol,
    excluded: [],
    demand,
    bar: undefined,
    isByAlias: false,
    isStrict: false,
    only: undefined,
    prompt,
    form: "stream",
    holdUntilMs: undefined,
    held: undefined,
    spare: undefined,
    random: () => 0,
    nowMs,
  };
}

/** Whether the request would find a slot there. */
export function hasSlot(one: Participant, { spare }: Pick<SelectionQuery, "spare">): boolean {
  return spare === undefined ? !isFull(one) : spare.has(one);
}

/**
 * Whether stand-ins leave a request to other participants: it may go to any, and another one can serve it, even at
 * capacity or loading. A participant at which this request failed counts while it can serve other requests: its failure
 * says more than the response of a stand-in. Contract §3, "Stand-ins".
 */
export function isLeftToOthers(room: Room, query: SelectionQuery): boolean {
  const { selector, only, protocol, nowMs, demand } = query;
  return selector.kind === "any" && only === undefined && haveOthers(room, protocol, nowMs, demand);
}

/** The order of lists. Programs take the first entry, so stand-ins come last while another participant can chat. */
export function standInsLast(
  room: Room,
  participants: Participant[],
  nowMs: number,
): Participant[] {
  const standIns = participants.filter((one) => one.isStandIn);
  if (standIns.length === 0) return participants;
  if (!haveOthers(room, "chatCompletions", () => nowMs, noDemand)) return participants;
  return [...participants.filter((one) => !one.isStandIn), ...standIns];
}

function haveOthers(
  { participants }: Room,
  protocol: string,
  nowMs: () => number,
  demand: Demand,
): boolean {
  for (const one of participants.values()) {
    if (one.isStandIn || capabilityOf(one, protocol) === "unsupported") continue;
    if (!isPermitted(one, demand)) continue;
    if (isRoutable(one, nowMs) || isAwaited(one, nowMs)) return true;
  }
  return false;
}
