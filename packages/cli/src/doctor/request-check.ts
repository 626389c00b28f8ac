import { errorFromResponse, HubUnreachableError } from "@roomhub/client";
import { hubHeader } from "../chat/hub-header.ts";
import { loadSentence } from "../terminal/load-text.ts";
import { duration, safe } from "../terminal/text.ts";
import { type ResponseTiming, paceOf, timeResponse } from "./response-timing.ts";
import type { Check, Examination } from "./check.ts";
import type { RequestEnd } from "./event-watch.ts";
import { failed, type Finding, ok, skipped } from "./finding.ts";
import { waitsForLoading } from "./model-check.ts";
import { bufferingFix } from "./stream-check.ts";

/** A model may have to be loaded first. */
const answerMs = 60_000;
const listMs = 3_000;
/** The event is written just after the last byte. */
const eventMs = 1_000;

/** One real request through everything, streamed: where its time goes, and whether it arrives as it is made. */
export const requestCheck: Check = {
  name: "request",
  waitsFor: "a few tokens from the model, which may be loading",
  timeoutMs: answerMs + eventMs,
  async look(exam, signal) {
    const { context, room, route } = exam;
    if (!exam.mayRequest) return skipped("left out, as asked");
    if (room === undefined) return skipped("needs the room");
    if (route?.refusal !== undefined) return skipped("needs somebody who serves the model");
    if (route !== undefined && waitsForLoading(route)) {
      return skipped("the model is still being loaded", "try again once it is loaded");
    }
    if (route?.outcome === "waits") {
      return skipped("everybody who serves the model is busy", "look again in a moment");
    }
    const { response, startMs } = await ask(exam, room.code, signal);
    const arrival = await timeResponse(response, () => context.nowMs() - startMs);
    if (arrival.failure !== undefined) {
      return failed(
        `the answer broke off: ${safe(arrival.failure)}`,
        "try again, or look at its model server",
      );
    }
    const who = safe(hubHeader(response, "x-roomhub-participant") ?? exam.model);
    return judge(who, arrival, await endOf(exam, response, signal));
  },
  late: explainTimeout,
};

/** A participant that has the request and says nothing yet is slow, not cut off. */
async function explainTimeout(exam: Examination): Promise<Finding | undefined> {
  const { context, hubUrl, room, model, events } = exam;
  if (room === undefined || events === undefined) return undefined;
  const client = context.createClient(hubUrl);
  const signal = AbortSignal.timeout(listMs);
  const participants = await client.listParticipants(room.code, { signal });
  const start = events.runningFor(model);
  if (start === undefined) {
    const waiting = participants.reduce((most, { load }) => Math.max(most, load.queued), 0);
    return waiting === 0
      ? undefined
      : skipped(
          `no participant had room for the request within ${duration(answerMs)}`,
          "try again later, or let another machine join",
        );
  }
  const id = start.participantId;
  const sentMs = Date.parse(start.timestamp) - (exam.clockSkewMs ?? 0);
  const one = participants.find((participant) => participant.id === id);
  const details =
    one === undefined ? [] : [`${safe(id)}: ${loadSentence(one.load)}, ${one.load.queued} waiting`];
  return skipped(
    `${safe(id)} accepted the request ${duration(Math.max(0, context.nowMs() - sentMs))} ago, and its model server has sent no token yet`,
    "the network is fine: read the model server's log, or try a smaller model",
    details,
  );
}

/**
 * As many tokens as tell a stream from one that was held back. `max_tokens` is what nearly every provider knows; the
 * newest models of OpenAI only take the other name.
 */
const fewTokens = [{ max_tokens: 32 }, { max_completion_tokens: 32 }];

async function ask(
  exam: Examination,
  code: string,
  signal: AbortSignal,
): Promise<{ response: Response; startMs: number }> {
  const url = `${exam.context.createClient(exam.hubUrl).baseUrl(code)}/chat/completions`;
  let refusal: Error | undefined;
  for (const limit of fewTokens) {
    const startMs = exam.context.nowMs();
    const response = await post(exam, url, limit, signal);
    if (response.ok) return { response, startMs };
    const text = await response.text();
    refusal = errorFromResponse(response, text);
    if (response.status !== 400 || !text.includes("max_completion_tokens")) break;
  }
  throw refusal;
}

async function post(
  { context, hubUrl, model }: Examination,
  url: string,
  limit: object,
  signal: AbortSignal,
): Promise<Response> {
  const messages = [{ role: "user", content: "Count from one to twenty, in words." }];
  try {
    return await context.fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ model, stream: true, messages, ...limit }),
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new HubUnreachableError(hubUrl, error);
  }
}

async function endOf(
  { events }: Examination,
  response: Response,
  signal: AbortSignal,
): Promise<RequestEnd | undefined> {
  const requestId = response.headers.get("x-request-id");
  if (events === undefined || requestId === null) return undefined;
  return events.endOf(requestId, AbortSignal.any([signal, AbortSignal.timeout(eventMs)]));
}

function judge(who: string, arrival: ResponseTiming, end: RequestEnd | undefined): Finding {
  const { byteMs, tokenMs, endMs } = arrival;
  const answered = `${who} answered in ${duration(endMs)}`;
  const token = tokenMs === undefined ? "" : `, first token after ${duration(tokenMs)}`;
  const began = `first byte after ${duration(byteMs)}${token}`;
  if (end?.type !== "llm.complete") return ok(answered, [began]);
  const { metrics, queueMs } = end;
  const tokenShares = tokenMs === undefined ? "" : `: ${shares(tokenMs, metrics.ttftMs, queueMs)}`;
  const details = [began + tokenShares];
  const pace = paceOf(arrival, metrics);
  if (pace === "at once") {
    return failed(
      `the answer of ${who} came all at once after ${duration(endMs)}, though its first token had left the hub after ${duration(metrics.ttftMs)}: something in between buffers answers`,
      bufferingFix,
      { details },
    );
  }
  const how = pace === undefined ? "" : `, ${pace}`;
  details.push(`all of it after ${duration(endMs)}: ${shares(endMs, metrics.durationMs, queueMs)}`);
  return ok(`${answered}${how}`, details);
}

/** What the hub measured from the request's arrival on, less its waiting, is the provider's share; the rest is the way. */
function shares(hereMs: number, hubMs: number, queueMs: number): string {
  return [
    `provider ${duration(Math.max(0, hubMs - queueMs))}`,
    `queue ${duration(queueMs)}`,
    `hub and network ${duration(Math.max(0, hereMs - hubMs))}`,
  ].join(", ");
}
