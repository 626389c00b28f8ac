import type { TranslationSource } from "../../translation/surface-translation.ts";
import { endingOf, readChatUsage } from "../../translation/chat/chat-choice.ts";
import type { ResponseEcho } from "../request/response-echo.ts";
import type { TranslatedRequest } from "../request/request.ts";

/** What every snapshot of one response has in common. */
export interface ResponseOrigin {
  id: string;
  createdAtSeconds: number;
  echo: ResponseEcho;
}

export type ResponseState =
  | { kind: "in progress" }
  | { kind: "ended"; outcome: Outcome; usage: ResponseUsage | null; atSeconds: number }
  | { kind: "failed"; error: { code: string; message: string } };

export function beginResponse(
  request: TranslatedRequest,
  source: TranslationSource,
): ResponseOrigin {
  return {
    id: source.newId("resp"),
    createdAtSeconds: source.nowSeconds(),
    echo: request.echo,
  };
}

/**
 * A response object with all 31 keys that Open Responses 2026-04-24 requires of a `ResponseResource`; what is not known
 * is null.
 *
 * @param model - the provider's own name for it
 * @param output - the items so far
 */
export function responseObject(
  origin: ResponseOrigin,
  model: string,
  output: readonly object[],
  state: ResponseState,
): object {
  return {
    id: origin.id,
    object: "response",
    created_at: origin.createdAtSeconds,
    model,
    output,
    ...stateKeys(state),
    ...origin.echo,
  };
}

function stateKeys(state: ResponseState) {
  const absent = { completed_at: null, incomplete_details: null, error: null, usage: null };
  switch (state.kind) {
    case "in progress":
      return { status: "in_progress", ...absent };
    case "failed":
      return { status: "failed", ...absent, error: state.error };
    case "ended": {
      const { outcome, usage, atSeconds } = state;
      const end =
        outcome.status === "completed"
          ? { completed_at: atSeconds }
          : { incomplete_details: { reason: outcome.reason } };
      return { status: outcome.status, ...absent, usage, ...end };
    }
  }
}

/** How a response ended, as in a response object. */
export type Outcome = { status: "completed" } | { status: "incomplete"; reason: string };

const incompleteReasons = {
  cut: "max_output_tokens",
  filtered: "content_filter",
  failed: "error",
} as const;

/** @param finishReason - undefined when the provider gave none and reported that it is done */
export function outcomeOf(finishReason: string | undefined): Outcome {
  const ending = endingOf(finishReason);
  if (ending === undefined) return { status: "completed" };
  return { status: "incomplete", reason: incompleteReasons[ending] };
}

/** Token counts of a response object; both details are required by Open Responses. */
export type ResponseUsage = NonNullable<ReturnType<typeof responseUsage>>;

/** Translates a chat `usage`. @returns null when it counts neither input nor output */
export function responseUsage(usage: unknown) {
  const { prompt, cached, completion, reasoning, total } = readChatUsage(usage);
  if (prompt === undefined && completion === undefined) return null;
  return {
    input_tokens: prompt ?? 0,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: completion ?? 0,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total ?? (prompt ?? 0) + (completion ?? 0),
  };
}
