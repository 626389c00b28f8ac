import { durationInWords, estimatedTokens, isCharged, tokenCost } from "@roomhub/protocol";
import type { Access } from "../domain/keys/access.ts";
import type { RoomKey } from "../domain/keys/key-table.ts";
import type { RequestMinutes } from "../domain/keys/request-minutes.ts";
import type { Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { BodyBudget } from "./body-budget.ts";
import { Dispatch, refusalOf } from "./dispatch.ts";
import { namedSession } from "./request/named-session.ts";
import { ModelRequest, type ModelRequestOptions } from "./request/inference-request.ts";
import type { Claims, Senders, Source } from "./sender/senders.ts";
import type { DispatchDeps, InferenceCall, RequestEmitter } from "./inference-call.ts";

/** What every way into inference shares. Made in `hub.ts`. */
export interface InferenceContext {
  dispatch: DispatchDeps;
  bodies: BodyBudget;
  requestMinutes: RequestMinutes;
  /** @throws HubError `room_not_found` */
  findRoom: (code: string) => Room;
  keyedHash: (purpose: string, value: string) => string;
  senders: Senders;
  /** epoch ms */
  wallMs: () => number;
}

/** The room of a request, from {@link admit} to {@link begin}. */
export type InferenceRoom = Room;

/**
 * Whether a request may begin, before its body is read.
 *
 * @param access - of a request that counts for the limit of its key
 * @throws HubError `room_not_found`, `hub_overloaded`, `key_limit_reached`
 */
export function admit(
  context: InferenceContext,
  code: string,
  access: Access | undefined,
): InferenceRoom {
  const room = context.findRoom(code);
  refuseAtLimit(context.dispatch);
  if (access?.key !== undefined) {
    requireTokens(access.key, context);
    countFor(access.key, context);
  }
  return room;
}

function countFor(key: RoomKey, { requestMinutes, dispatch }: InferenceContext): void {
  const { requestsPerMinute: limit } = key;
  if (limit === undefined) return;
  const retryAfterMs = requestMinutes.count(key, limit, dispatch.nowMs());
  if (retryAfterMs === 0) return;
  throw limitReached(key, { unit: "requests", limit }, "a minute, which are used up", retryAfterMs);
}

function requireTokens(key: RoomKey, { wallMs }: InferenceContext): void {
  const { tokenDay } = key;
  const nowMs = wallMs();
  const retryAfterMs = tokenDay?.waitMs(nowMs) ?? 0;
  if (tokenDay === undefined || retryAfterMs === 0) return;
  const { limit } = tokenDay;
  const use = tokenDay.spent(nowMs) < limit ? "may be used up by what runs" : "are used up";
  throw limitReached(key, { unit: "tokens", limit }, `a day, which ${use}`, retryAfterMs);
}

function limitReached(
  { name }: RoomKey,
  limit: NonNullable<HubError["limit"]>,
  use: string,
  retryAfterMs: number,
): HubError {
  const permitted = `${limit.limit.toLocaleString("en-US")} ${limit.unit} ${use}`;
  const message = `The key of ${name} permits ${permitted}. Try again in ${durationInWords(retryAfterMs)}.`;
  return new HubError("key_limit_reached", message, {
    hint: "Send fewer requests, or ask the room's host for a key with a higher limit.",
    ...{ retryAfterMs, limit },
  });
}

/**
 * Starts a request. It ends with exactly one terminal event, and its client gets every failure.
 *
 * @param call - its room is from {@link admit}
 * @throws HubError `hub_overloaded` when other requests began while its body was arriving, or why its access ended
 *   meanwhile
 */
export function begin(context: InferenceContext, call: InferenceCall): Dispatch {
  const { dispatch: shared } = context;
  const deps = call.request.hasEvents ? shared : { ...shared, emit: silent };
  refuseAtLimit(deps);
  const refusal = refusalOf(call, context.wallMs());
  if (refusal !== undefined) throw refusal;
  const spend = reserveTokens(context, call);
  touchRoom(context, call.room);
  const dispatch = new Dispatch(deps, spend === undefined ? call : { ...call, spend });
  dispatch.start();
  return dispatch;
}

/** Until it ends, the request counts for what it is expected to cost: its prompt, and what it permits as a response. */
function reserveTokens(
  context: InferenceContext,
  { access, request }: InferenceCall,
): InferenceCall["spend"] {
  const { surface, chunks, outputTokens } = request;
  const { key } = access ?? {};
  if (key?.tokenDay === undefined || surface === undefined || !isCharged(surface)) return undefined;
  requireTokens(key, context);
  const requestBytes = surface.isRare ? 0 : chunks.reduce((sum, { length }) => sum + length, 0);
  const settle = key.tokenDay.reserve(estimatedTokens(requestBytes) + outputTokens);
  return (response) => {
    const cost = response === undefined ? 0 : tokenCost(surface, { ...response, requestBytes });
    settle(cost, context.wallMs());
  };
}

/** A request for a model, as its client sent it. */
interface ModelCall
  extends
    Omit<ModelRequestOptions, "session">,
    Omit<InferenceCall, "request" | "sender" | "spend"> {
  source: Source;
  claims: Claims;
}

/** {@link begin}s a request for a model. */
export function beginModelRequest(context: InferenceContext, asked: ModelCall): Dispatch {
  const { requestId, room, access, hops, startedMs, client, onMoved, onSettled } = asked;
  const session = sessionKey(context, asked);
  const sender = context.senders.senderOf(asked.source, asked.claims, asked.body.user, access?.key);
  // Named one by one: the call lives longer than the body.
  return begin(context, {
    ...{ requestId, room, access, hops, startedMs, client, onMoved, onSettled, sender },
    request: new ModelRequest({ ...asked, session }),
  });
}

/** The keyed hash of the session that a client names. It differs per room and key. Contract §3, "Conversations". */
function sessionKey(
  { keyedHash }: InferenceContext,
  { room, access, headers, body }: ModelCall,
): string | undefined {
  const named = namedSession(headers, body);
  if (named === undefined) return undefined;
  return keyedHash(`session ${room.code}`, access?.own(named) ?? named);
}

/** Keeps a used room from being dropped. Contract §1. */
export function touchRoom({ wallMs }: InferenceContext, room: InferenceRoom): void {
  room.lastUsedAt = wallMs();
}

/** @param piped - requests of this hub's clients that run at other hubs. @throws HubError `hub_overloaded` */
export function refuseAtLimit(
  { inFlight, limits }: Pick<DispatchDeps, "inFlight" | "limits">,
  piped: number = 0,
): void {
  if (inFlight.size + piped < limits.inFlightPerHub) return;
  throw new HubError("hub_overloaded", `The hub already runs ${limits.inFlightPerHub} requests.`);
}

const silent: RequestEmitter = {
  llmRequest: () => undefined,
  llmComplete: () => undefined,
  llmError: () => undefined,
  requestQueued: () => undefined,
  requestFirst: () => undefined,
  requestProgress: () => true,
};
