import type { RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { CopyButton } from "../parts/copy-button.tsx";
import { durationText, rateText } from "../parts/figure-text.ts";
import { pure } from "../parts/pure.ts";
import { type Answer, withoutThoughts } from "./chat-state.ts";
import { MarkdownView } from "./markdown-view.tsx";

export interface AnswerViewProps {
  answer: Answer;
  /** who responded, and how fast */
  figures: string;
  /** of its column */
  index: number;
  /** undefined where it cannot be requested again */
  onRetry: ((index: number) => void) | undefined;
}

/** One answer as it arrives: who responds, the reasoning folded, the text. */
export const AnswerView = pure(({ answer, figures, index, onRetry }: AnswerViewProps): VNode => {
  const thought = withoutThoughts(answer.text);
  const reasoning = answer.reasoning + thought.reasoning;
  const { kind, problem } = answer;
  return (
    <article class={`answer is-${kind === "running" ? "streaming" : kind}`}>
      <p class="answer-head">
        <span class="phase" role="status">
          {phaseText(answer, reasoning)}
        </span>{" "}
        <span class="quiet">{figures}</span>
      </p>
      {reasoning === "" ? null : (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <p>{reasoning}</p>
        </details>
      )}
      <MarkdownView text={thought.text} />
      {problem === undefined ? null : <p class="problem">{problem}</p>}
      {kind === "running" ? null : (
        <p class="controls">
          {thought.text === "" ? null : <CopyButton label="Copy" text={() => thought.text} />}
          {onRetry === undefined ? null : (
            <button type="button" onClick={() => onRetry(index)}>
              Again
            </button>
          )}
        </p>
      )}
    </article>
  );
});

function phaseText({ kind, text }: Answer, reasoning: string): string {
  if (kind !== "running") return kind;
  if (text === "" && reasoning === "") return "waits for its first token";
  return text === "" ? "reasoning" : "streaming";
}

/**
 * Who responded, time to the first token and tokens per second, as the hub measured them: other than times of this page,
 * they are the same for everyone who watches.
 */
export function answerFigures(
  { requestId, from }: Answer,
  { participants, running, recent }: RoomState,
): string {
  const parts: string[] = [];
  if (from !== undefined) {
    const { nickname = from.participantId } = participants.get(from.participantId) ?? {};
    parts.push(`${nickname}: ${from.model}`);
  }
  if (requestId !== undefined) {
    const ended = recent.findLast((request) => request.requestId === requestId);
    const request = running.get(requestId);
    if (ended?.kind === "done") parts.push(...timesOf(ended.metrics));
    else if (request?.kind === "streaming") parts.push(...timesOf(request));
  }
  return parts.join(", ");
}

function timesOf(times: { ttftMs: number; tokensPerSecond?: number | undefined }): string[] {
  const first = `first token ${durationText(times.ttftMs)}`;
  const { tokensPerSecond: rate } = times;
  return rate === undefined ? [first] : [first, `${rateText(rate)} tokens/s`];
}
