import { timeoutSignal } from "@roomhub/protocol";
import { errorFromResponse } from "@roomhub/client";
import { hubHeader, requestStream } from "../chat/request-answer.ts";
import { loadSentence } from "../terminal/load-text.ts";
import { duration, safe } from "../terminal/text.ts";
import {
  type Check,
  type Examination,
  failed,
  type Finding,
  ok,
  type RequestEnd,
  skipped,
} from "./check.ts";
import { bufferingFix } from "./stream-check.ts";
import { noChat, waitsForLoading } from "./model-check.ts";
import { isForChat } from "./participants-check.ts";
import { readJsonResponse, readStreamedResponse } from "../chat/response-reader.ts";

/** The model may have to load first. */
const responseMs = 60_000;
const listMs = 3_000;
/** The event is written just after the last byte. */
const eventMs = 1_000;

/** One real request, streamed end to end: where its time goes, and whether tokens arrive as they are generated. */
export const requestCheck: Check = {
  name: "request",
  waitsFor: "a few tokens from the model, which may be loading",
  timeoutMs: responseMs + eventMs,
  async run(exam, signal) {
    const { context, room, route } = exam;
    if (!exam.mayRequest) return skipped("disabled by --no-request");
    if (room === undefined) return skipped("needs the room");
    if (!isForChat(exam.participants)) return skipped(noChat);
    if (route?.refusal !== undefined) return skipped("needs a participant that serves the model");
    if (route !== undefined && waitsForLoading(route)) {
      return skipped("the model is still loading", "retry once it is loaded");
    }
    if (route?.outcome === "waits") {
      return skipped("all matching participants are at capacity", "retry in a moment");
    }
    const { response, startMs } = await sendRequest(exam, room.code, signal);
    const timing = await timeResponse(response, () => context.world.wallMs() - startMs);
    if (timing.failure !== undefined) {
      return failed(
        `the response failed: ${safe(timing.failure)}`,
        "retry, or check the participant's model server",
      );
    }
    const who = safe(hubHeader(response, "x-roomhub-participant") ?? exam.model);
    return judge(who, timing, await endOf(exam, response, signal));
  },
  late: explainTimeout,
};

/** A participant that holds the request without a token yet is slow, not unreachable. */
async function explainTimeout(exam: Examination): Promise<Finding | undefined> {
  const { context, hubUrl, room, model, events } = exam;
  if (room === undefined || events === undefined) return undefined;
  const client = context.createClient(hubUrl);
  const signal = timeoutSignal(context.world, listMs);
  const participants = await client.listParticipants(room.code, { signal });
  const start = events.runningFor(model);
  if (start === undefined) {
    const waiting = participants.reduce((most, { load }) => Math.max(most, load.queued), 0);
    return waiting === 0
      ? undefined
      : skipped(
          `no participant had capacity for the request within ${duration(responseMs)}`,
          "retry later, or add a participant",
        );
  }
  const id = start.participantId;
  const sentMs = Date.parse(start.timestamp) - (exam.clockSkewMs ?? 0);
  const one = participants.find((participant) => participant.id === id);
  const details =
    one === undefined ? [] : [`${safe(id)}: ${loadSentence(one.load)}, ${one.load.queued} waiting`];
  return skipped(
    `${safe(id)} accepted the request ${duration(Math.max(0, context.world.wallMs() - sentMs))} ago, and its model server has sent no token yet`,
    "the network works: check the model server's log, or try a smaller model",
    details,
  );
}

/**
 * Enough tokens to distinguish a stream from a buffered response. Nearly every provider supports `max_tokens`; OpenAI's newest
 * models accept only the other name.
 */
const fewTokens = [{ max_tokens: 32 }, { max_completion_tokens: 32 }];

async function sendRequest(
  { context, hubUrl, model }: Examination,
  code: string,
  signal: AbortSignal,
): Promise<{ response: Response; startMs: number }> {
  const path = "chat/completions";
  const messages = [{ role: "user", content: "Count from one to twenty, in words." }];
  let refusal: Error | undefined;
  for (const limit of fewTokens) {
    const startMs = context.world.wallMs();
    const body = { model, stream: true, messages, ...limit };
    const request = { path, headers: {}, body };
    const response = await requestStream(context, { hubUrl, room: code }, request, signal);
    if (response.ok) return { response, startMs };
    const text = await response.text();
    refusal = errorFromResponse(response, text);
    if (response.status !== 400 || !text.includes("max_completion_tokens")) break;
  }
  throw refusal;
}

async function endOf(
  { context, events }: Examination,
  response: Response,
  signal: AbortSignal,
): Promise<RequestEnd | undefined> {
  const requestId = response.headers.get("x-request-id");
  if (events === undefined || requestId === null) return undefined;
  return events.endOf(requestId, AbortSignal.any([signal, timeoutSignal(context.world, eventMs)]));
}

function judge(who: string, timing: ResponseTiming, end: RequestEnd | undefined): Finding {
  const { byteMs, tokenMs, endMs } = timing;
  const responded = `${who} responded in ${duration(endMs)}`;
  const token = tokenMs === undefined ? "" : `, first token after ${duration(tokenMs)}`;
  const began = `first byte after ${duration(byteMs)}${token}`;
  if (end?.type !== "llm.complete") return ok(responded, [began]);
  const { metrics, queueMs } = end;
  const tokenShares = tokenMs === undefined ? "" : `: ${shares(tokenMs, metrics.ttftMs, queueMs)}`;
  const details = [began + tokenShares];
  const arrival = arrivalOf(timing, metrics);
  if (arrival === "at once") {
    return failed(
      `the response from ${who} arrived all at once after ${duration(endMs)}, although its first token left the hub after ${duration(metrics.ttftMs)}: a proxy in between buffers responses`,
      bufferingFix,
      { details },
    );
  }
  const how = arrival === undefined ? "" : `, ${arrival}`;
  details.push(`complete after ${duration(endMs)}: ${shares(endMs, metrics.durationMs, queueMs)}`);
  return ok(`${responded}${how}`, details);
}

/** The provider's share is the hub's measurement less the time in the queue; the rest is hub and network. */
function shares(hereMs: number, hubMs: number, queueMs: number): string {
  return [
    `provider ${duration(Math.max(0, hubMs - queueMs))}`,
    `queue ${duration(queueMs)}`,
    `hub and network ${duration(Math.max(0, hereMs - hubMs))}`,
  ].join(", ");
}

/** When the parts of a response arrived, ms since the request was sent. */
export interface ResponseTiming {
  /** of its headers */
  byteMs: number;
  /** of its first text or reasoning; undefined when there was none */
  tokenMs: number | undefined;
  endMs: number;
  isStream: boolean;
  /** why it failed; undefined when it is complete */
  failure: string | undefined;
}

/**
 * Reads a response to its end and measures when its parts arrive.
 *
 * @param response - whose headers have just arrived
 * @param watch - ms since the request was sent
 */
export async function timeResponse(
  response: Response,
  watch: () => number,
): Promise<ResponseTiming> {
  const byteMs = watch();
  let tokenMs: number | undefined;
  const note = () => {
    tokenMs ??= watch();
  };
  const listener = { onText: note, onReasoning: note };
  const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
  const end =
    isStream && response.body !== null
      ? await readStreamedResponse(response.body, "chat", listener)
      : readJsonResponse(await response.text(), "chat", listener);
  const failure = end.kind === "failed" ? end.message : undefined;
  return { byteMs, tokenMs, endMs: watch(), isStream, failure };
}

/** A response that took the hub this long from its first token to its end cannot arrive in one piece by chance. */
const minMeasuredMs = 200;

/**
 * How a stream arrived, compared with what the hub measured. A buffering proxy passes nothing on before the end.
 *
 * @param hub - when the first token and the end left the hub, ms since the request arrived there
 * @returns undefined when the response was too short to decide
 */
export function arrivalOf(
  { isStream, tokenMs, endMs }: ResponseTiming,
  hub: { ttftMs: number; durationMs: number },
): "incrementally" | "at once" | undefined {
  const hubMs = hub.durationMs - hub.ttftMs;
  if (!isStream || tokenMs === undefined || hubMs < minMeasuredMs) return undefined;
  return endMs - tokenMs < hubMs / 4 ? "at once" : "incrementally";
}
