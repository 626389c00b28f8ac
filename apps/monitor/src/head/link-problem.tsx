import type { VNode } from "preact";
import type { FeedProblem } from "../live/room-feed.ts";
import { clockText, durationText } from "../parts/figure-text.ts";

export interface LinkProblemProps {
  problem: FeedProblem;
  nowMs: number;
  /** epoch ms of what the page shows; undefined when it shows nothing yet */
  shownMs: number | undefined;
  onRetry: () => void;
}

/** Why the room is not shown as it is now, of when it is shown, and what a person can do. */
export function LinkProblem({ problem, nowMs, shownMs, onRetry }: LinkProblemProps): VNode {
  const { text, retryAtMs } = problem;
  return (
    <div class="link-problem" role="alert">
      <p>
        {text}.
        {shownMs === undefined ? null : ` This is the room at ${clockText(shownMs).slice(0, 8)}.`}
      </p>
      {retryAtMs === undefined ? null : (
        <p class="quiet" aria-live="off">
          Next attempt in {durationText(Math.ceil(Math.max(0, retryAtMs - nowMs) / 1_000) * 1_000)}
        </p>
      )}
      <button type="button" onClick={onRetry}>
        Try again
      </button>
      {retryAtMs === undefined ? <a href="?room=">Enter another room</a> : null}
    </div>
  );
}
