import type { VNode } from "preact";
import type { FeedView } from "../live/room-feed.ts";
import { durationText } from "../parts/figure-text.ts";

export interface LinkStatusProps {
  view: FeedView;
  nowMs: number;
  hubUrl: string;
}

/** The connection to the hub, and what to do when there is none. */
export function LinkStatus({ view, nowMs, hubUrl }: LinkStatusProps): VNode {
  const { link, problem, state } = view;
  if (problem !== undefined) {
    const retryMs = Math.max(0, problem.retryAtMs - nowMs);
    return (
      <div class="link is-broken" role="alert">
        <p>
          {problem.message}. {problem.hint === undefined ? null : <b>Next: {problem.hint}. </b>}
          <span aria-live="off">
            Next attempt in {durationText(Math.ceil(retryMs / 1_000) * 1_000)}
          </span>
        </p>
      </div>
    );
  }
  return (
    <p class={`link is-${link.kind}`} role="status">
      {link.kind === "broken"
        ? `Disconnected: ${link.reason}; reconnecting`
        : link.kind === "opening" || !state.isSynced
          ? `Connecting to ${hubUrl}`
          : "Live"}
    </p>
  );
}
