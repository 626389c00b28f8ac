import { clientText, type Metrics } from "@roomhub/protocol";
import type { EndedRequest, RoomState, RunningRequest } from "@roomhub/room-state";
import { durationText, elapsedText, rateText } from "../parts/figure-text.ts";

export type AnyRequest = RunningRequest | EndedRequest;

/** One request as a row shows it. */
export interface RequestRow {
  phase: AnyRequest["kind"];
  /** the phase in words: `waiting, place 2`, `first token`, `streaming`, `done`, `failed at provider` */
  phaseText: string;
  /** who sends it, or `no name` */
  person: string;
  conversation: string | undefined;
  /** the request's `model` field */
  selector: string;
  model: string | undefined;
  participantId: string | undefined;
  /** `4.2 s`: since its start while it runs, its whole duration when done; empty for one that failed */
  timeText: string;
  ttftText: string;
  /** undefined until tokens were counted */
  tokens: number | undefined;
  /** `33 tokens/s`, or empty */
  rateText: string;
  attempt: number;
  isBatch: boolean;
  failure: { code: string; error: string; hint: string | undefined } | undefined;
}

/** At most so many ended requests are listed. */
const endedShown = 200;

/**
 * Running requests, oldest first; then waiting ones by place; then ended ones, newest first. A request moves down the page
 * from phase to phase.
 */
export function orderedRequests({ running, recent }: RoomState): AnyRequest[] {
  const sent: RunningRequest[] = [];
  const queued: (RunningRequest & { kind: "queued" })[] = [];
  for (const request of running.values()) {
    if (request.kind === "queued") queued.push(request);
    else sent.push(request);
  }
  queued.sort((one, other) => one.place - other.place);
  return [...sent, ...queued, ...recent.slice(-endedShown).reverse()];
}

/** @param nowMs - epoch ms on the watcher's clock */
export function requestRow(request: AnyRequest, nowMs: number): RequestRow {
  const { ttftMs, outputTokens, tokensPerSecond } = figuresOf(request);
  return {
    phase: request.kind,
    phaseText: phaseText(request),
    person: clientText(request.client) ?? "no name",
    conversation: request.conversation,
    selector: request.selector ?? "",
    model: "model" in request ? request.model : undefined,
    participantId: "participantId" in request ? request.participantId : undefined,
    timeText: timeText(request, nowMs),
    ttftText: ttftMs === undefined ? "" : durationText(ttftMs),
    tokens: request.kind === "streaming" && outputTokens === 0 ? undefined : outputTokens,
    rateText: tokensPerSecond === undefined ? "" : `${rateText(tokensPerSecond)} tokens/s`,
    attempt: "attempts" in request ? request.attempts : request.attempt,
    isBatch: request.priority === "batch",
    failure:
      request.kind === "failed"
        ? { code: request.code, error: request.error, hint: request.hint }
        : undefined,
  };
}

function phaseText(request: AnyRequest): string {
  if (request.kind === "queued") return `waiting, place ${request.place}`;
  if (request.kind === "waiting") return "first token";
  return request.kind === "failed" ? `failed at ${request.stage}` : request.kind;
}

function timeText(request: AnyRequest, nowMs: number): string {
  if (request.kind === "done") return durationText(request.metrics.durationMs);
  return "startedMs" in request ? elapsedText(nowMs - request.startedMs) : "";
}

/** So far, or at its end; nothing while it has no response. */
function figuresOf(request: AnyRequest): Partial<Metrics> {
  if (request.kind === "done") return request.metrics;
  return request.kind === "streaming" ? request : {};
}
