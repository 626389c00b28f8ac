import type { TranslatedRequest, ResponseEcho } from "../translated-request.ts";
import type { TranslationSource } from "../../translation/surface-translation.ts";
import type { Outcome } from "./finish.ts";
import type { ResponseUsage } from "./usage.ts";

/** What every snapshot of one response has in common. */
export interface ResponseOrigin {
  id: string;
  createdAtSeconds: number;
  echo: ResponseEcho;
}

/** Of one item of the output. */
export type ItemStatus = "in_progress" | "completed" | "incomplete";

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
      return outcome.status === "completed"
        ? { status: outcome.status, ...absent, usage, completed_at: atSeconds }
        : {
            status: outcome.status,
            ...absent,
            usage,
            incomplete_details: { reason: outcome.reason },
          };
    }
  }
}
