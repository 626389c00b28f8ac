import { errorFromResponse, HubUnreachableError } from "@roomhub/client";
import { readAnswer, readWholeAnswer } from "../chat-answer.ts";
import { hubHeader } from "../hub-header.ts";
import { duration, safe } from "../text.ts";
import type { Check, Examination } from "./check.ts";
import type { RequestEnd } from "./event-watch.ts";
import { failed, type Finding, ok, skipped } from "./finding.ts";

/** A model may have to be loaded first. */
const answerMs = 60_000;
/** The event is written just after the last byte. */
const eventMs = 1_000;

/** One real request through everything, for a single token. */
export const requestCheck: Check = {
  name: "request",
  waitsFor: "one token from the model, which may be loading",
  timeoutMs: answerMs + eventMs,
  async look(exam, signal) {
    if (!exam.mayRequest) return skipped("left out, as asked");
    if (exam.room === undefined) return skipped("needs the room");
    if (exam.route?.refusal !== undefined) return skipped("needs somebody who serves the model");
    const startMs = exam.context.nowMs();
    const response = await ask(exam, exam.room.code, signal);
    const broken = await readToEnd(response);
    const totalMs = exam.context.nowMs() - startMs;
    if (broken !== undefined) {
      return failed(
        `the answer broke off: ${safe(broken)}`,
        "try again, or look at its model server",
      );
    }
    const end = await endOf(exam, response, signal);
    return told(exam, response, { totalMs, end });
  },
};

/** `max_tokens` is what nearly every provider knows; the newest models of OpenAI only take the other name. */
const oneToken = [{ max_tokens: 1 }, { max_completion_tokens: 16 }];

async function ask(exam: Examination, code: string, signal: AbortSignal): Promise<Response> {
  const url = `${exam.context.createClient(exam.hubUrl).baseUrl(code)}/chat/completions`;
  let refusal: Error | undefined;
  for (const limit of oneToken) {
    const response = await post(exam, url, limit, signal);
    if (response.ok) return response;
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
  const messages = [{ role: "user", content: "Say hi." }];
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

/** @returns what was wrong with the answer; undefined when it was whole */
async function readToEnd(response: Response): Promise<string | undefined> {
  const listener = { onText: () => {}, onReasoning: () => {} };
  const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
  const end =
    isStream && response.body !== null
      ? await readAnswer(response.body, "chat", listener)
      : readWholeAnswer(await response.text(), "chat", listener);
  return end.kind === "failed" ? end.message : undefined;
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

/** What the hub measured, from the request's arrival to its last byte, less its waiting, is the provider's share. */
function told(
  { model }: Examination,
  response: Response,
  { totalMs, end }: { totalMs: number; end: RequestEnd | undefined },
): Finding {
  const who = safe(hubHeader(response, "x-roomhub-participant") ?? model);
  const total = `${who} answered in ${duration(totalMs)}`;
  if (end?.type !== "llm.complete") return ok(`${total} (one token)`);
  const { metrics, queueMs } = end;
  const hubMs = metrics.durationMs;
  const waitedMs = queueMs ?? 0;
  const parts = [
    `provider ${duration(Math.max(0, hubMs - waitedMs))}`,
    `queue ${duration(waitedMs)}`,
    `hub and network ${duration(Math.max(0, totalMs - hubMs))}`,
  ];
  return ok(`${total} (one token): ${parts.join(", ")}`);
}
