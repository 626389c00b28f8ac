import {
  type ClientIdentity,
  type CompletePayload,
  type FailurePayload,
  type InferenceProtocol,
  type Metrics,
  type QueuedPayload,
  type RequestPayload,
  type RequestSummary,
  tokensPerSecond,
  type Usage,
} from "@roomhub/protocol";
import type { Participant, SlotHolder } from "../domain/participant.ts";
import type { Prompt } from "../domain/placement/warm-conversations.ts";
import type { HubError } from "../errors.ts";
import type { QueueEntry } from "./queue.ts";

/** What the terminal event and the headers of a request say. */
export interface RequestFacts {
  requestId: string;
  /** the last participant that was called; undefined before a selection */
  participant: Participant | undefined;
  protocol: InferenceProtocol;
  /** the client's `model` field */
  selector: string;
  /** the pattern of the alias that the selector matches; undefined when it matches none */
  alias: string | undefined;
  client: ClientIdentity;
  /** 8 hex digits; undefined without a session */
  conversation: string | undefined;
  priority: "batch" | undefined;
  attempts: number;
  queueMs: number;
  /** how often an interrupted tunnel resumed while it ran */
  resumes: number;
}

interface RequestSource extends Pick<RequestFacts, "requestId"> {
  request: Pick<RequestFacts, "protocol" | "selector"> & { prompt: Prompt; isBatch: boolean };
  sender: Pick<RequestFacts, "client">;
}

/** @param now - the facts that change while it runs */
export function factsOf(
  { requestId, request, sender }: RequestSource,
  now: Pick<RequestFacts, "participant" | "alias" | "attempts" | "queueMs" | "resumes">,
): RequestFacts {
  const { protocol, selector, prompt, isBatch } = request;
  // The beginning of the session's keyed hash, which reveals nothing else. Contract §5.
  const conversation = prompt.session?.slice(0, 8);
  const priority = isBatch ? "batch" : undefined;
  return { requestId, protocol, selector, client: sender.client, conversation, priority, ...now };
}

/** The facts for response headers, once a participant was called. */
export interface ServedBy {
  requestId: string;
  participantId: string;
  model: string;
  attempts: number;
  queueMs: number;
  /** Its model server may cut the prompt without saying so. */
  mayTruncate: boolean;
}

export function servedBy(
  facts: RequestFacts,
  participant: Participant,
  mayTruncate = false,
): ServedBy {
  const { requestId, attempts, queueMs } = facts;
  const { id: participantId, model } = participant;
  return { requestId, participantId, model, attempts, queueMs, mayTruncate };
}

/** The status of a request. */
export interface RequestStatus {
  facts: RequestFacts;
  /** the holder of its slot */
  holder: SlotHolder;
  /** ms on the hub's clock */
  startedMs: number;
  /** its place in the queue, while it waits */
  place: QueueEntry | undefined;
  delivered: {
    /** ms on the hub's clock; undefined until there was any content */
    readonly contentMs: number | undefined;
    /** 0 when none were counted */
    readonly outputTokens: number;
  };
}

/**
 * Contract §5, "Detail".
 *
 * @param places - the places of the room's waiting requests, from 1
 * @param epochMs - converts a time on the hub's clock
 */
export function requestSummary(
  { facts, startedMs, place, delivered: { contentMs, outputTokens } }: RequestStatus,
  places: ReadonlyMap<QueueEntry, number>,
  epochMs: (ms: number) => number,
): RequestSummary {
  const { requestId, selector, alias, protocol, client, conversation, priority, attempts } = facts;
  const { participant } = facts;
  const at = { participantId: participant?.id, model: participant?.model };
  return {
    requestId,
    state: place === undefined ? stateOf(contentMs) : "queued",
    ...(place === undefined ? at : { place: places.get(place) }),
    ...{ selector, alias, protocol, client, conversation, priority },
    attempt: attempts,
    startedAt: epochMs(startedMs),
    firstAt: contentMs === undefined ? undefined : epochMs(contentMs),
    outputTokens: outputTokens === 0 ? undefined : outputTokens,
  };
}

function stateOf(contentMs: number | undefined): RequestSummary["state"] {
  return contentMs === undefined ? "running" : "streaming";
}

/**
 * Contract §5, "Detail".
 *
 * @param place - 1-based, among the room's waiting requests
 */
export function queuedPayload(facts: RequestFacts, place: number): QueuedPayload {
  const { requestId, selector, alias, protocol, client, conversation, priority } = facts;
  return { requestId, selector, alias, protocol, client, conversation, priority, place };
}

/** Interface §6, llm.request. */
export function requestPayload(facts: RequestFacts, participant: Participant): RequestPayload {
  return {
    requestId: facts.requestId,
    participantId: participant.id,
    model: participant.model,
    protocol: facts.protocol,
    selector: facts.selector,
    alias: facts.alias,
    client: facts.client,
    conversation: facts.conversation,
    priority: facts.priority,
    attempt: facts.attempts,
  };
}

/** Interface §6, llm.complete. */
export function completePayload(facts: RequestFacts, metrics: Metrics): CompletePayload {
  return {
    requestId: facts.requestId,
    participantId: facts.participant?.id ?? "",
    model: facts.participant?.model ?? facts.selector,
    protocol: facts.protocol,
    selector: facts.selector,
    alias: facts.alias,
    client: facts.client,
    conversation: facts.conversation,
    priority: facts.priority,
    attempts: facts.attempts,
    queueMs: Math.round(facts.queueMs),
    resumes: facts.resumes === 0 ? undefined : facts.resumes,
    metrics,
  };
}

const maxMessageLength = 512;

/**
 * Interface §6, llm.error: `participantId`, `nickname`, `endpoint` and `model` are always there, `null` when unknown.
 *
 * @param providerCode - the provider's own code, when it gave one
 */
export function failurePayload(
  facts: RequestFacts,
  error: HubError,
  providerCode: string | undefined,
): FailurePayload {
  const { participant } = facts;
  return {
    requestId: facts.requestId,
    participantId: participant?.id ?? null,
    nickname: participant?.nickname ?? null,
    endpoint: participant?.endpoint ?? null,
    model: participant?.model ?? facts.selector,
    protocol: facts.protocol,
    stage: error.stage ?? "hub",
    error: error.message.slice(0, maxMessageLength),
    code: providerCode ?? error.code,
    selector: facts.selector,
    alias: facts.alias,
    client: facts.client,
    conversation: facts.conversation,
    priority: facts.priority,
    attempts: facts.attempts,
    queueMs: Math.round(facts.queueMs),
  };
}

/**
 * Interface §6: hub-observed, client latency excluded. Unknown values are absent.
 *
 * @param ttftMs - to the first generated content or first body byte
 * @param durationMs - of the whole request
 */
export function metricsOf(ttftMs: number, durationMs: number, usage: Usage): Metrics {
  // Only some programs report it, and ttftMs covers it.
  const { promptMs: _promptMs, ...counts } = usage;
  const metrics: Metrics = { ttftMs: rounded(ttftMs), durationMs: rounded(durationMs), ...counts };
  const speed = tokensPerSecond(usage, durationMs);
  if (speed !== undefined) metrics.tokensPerSecond = rounded(speed);
  return metrics;
}

/** Microseconds are noise in an event. */
export function rounded(value: number): number {
  return Math.round(Math.max(0, value) * 100) / 100;
}
