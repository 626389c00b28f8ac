import { isObject, readUsage } from "@roomhub/protocol";
import type { Outcome } from "./outcome-line.ts";
import { type Answer, maxAnswerBytes } from "./send-request.ts";

/** What the hub and the model server say about an answer. */
export interface AnswerFacts {
  /** for which the request waited at the room; undefined when no participant was called */
  queueMs: number | undefined;
  participantId: string | undefined;
  /** 0 when the model server reports none */
  outputTokens: number;
}

export function answerFacts(answer: Answer): AnswerFacts {
  if (answer.kind !== "response") {
    return { queueMs: undefined, participantId: undefined, outputTokens: 0 };
  }
  const { headers, value } = answer;
  const queueMs = Number(headers["x-roomhub-queue-ms"] ?? Number.NaN);
  const usage = isObject(value) ? value["usage"] : undefined;
  return {
    queueMs: Number.isFinite(queueMs) ? queueMs : undefined,
    participantId: headers["x-roomhub-participant"],
    outputTokens: readUsage(usage).outputTokens ?? 0,
  };
}

/** An answer as what became of its request. */
export function resultOf(answer: Answer): Outcome {
  if (answer.kind === "response") {
    const { status, headers, body } = answer;
    return { kind: "response", status, requestId: headers["x-request-id"] ?? "", body };
  }
  const message =
    answer.kind === "too-long"
      ? `The answer is longer than ${maxAnswerBytes / 1024 / 1024} MiB`
      : answer.reason;
  return {
    kind: "error",
    code: answer.kind === "too-long" ? "response_too_large" : "hub_unreachable",
    message,
  };
}
