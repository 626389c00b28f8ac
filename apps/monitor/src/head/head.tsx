import type { Invite } from "@roomhub/client";
import { roomFigures } from "@roomhub/room-state";
import type { VNode } from "preact";
import { durationText, plural, rateText } from "../parts/figure-text.ts";
import type { FeedView } from "../live/room-feed.ts";
import { LinkStatus } from "./link-status.tsx";
import { ThemeButton } from "./theme-button.tsx";
import { type ViewName, VIEWS } from "./view-name.ts";

export interface HeadProps {
  address: Invite;
  view: FeedView;
  nowMs: number;
  name: ViewName;
  isProjector: boolean;
  onProjector: () => void;
}

/** The room, its figures, the connection, and the links to the views. */
export function Head(props: HeadProps): VNode {
  const { address, view, nowMs, name, isProjector, onProjector } = props;
  const { room } = view.state;
  const figures = roomFigures(view.state, nowMs);
  return (
    <header class="head">
      <h1>
        {room?.name ?? "Room"} <span class="code">{room?.code ?? address.room}</span>
      </h1>
      <LinkStatus view={view} nowMs={nowMs} hubUrl={address.hubUrl} />
      <dl class="key-figures">
        <Figure name="running" value={String(runningOf(view))} />
        <Figure name="tokens/s" value={rateText(figures.tokensPerSecond)} />
        <Figure name="first token" value={textOf(figures.ttftP50Ms)} />
        <Figure name="15 min" value={plural(figures.requests, "request")} />
        <Figure name="errors" value={String(figures.errors)} />
      </dl>
      <nav aria-label="Views">
        {(Object.keys(VIEWS) as ViewName[]).map((view) => (
          <a key={view} href={`#${view}`} aria-current={view === name ? "page" : undefined}>
            {VIEWS[view]}
          </a>
        ))}
        <button type="button" aria-pressed={isProjector} onClick={onProjector}>
          Projector
        </button>
        <ThemeButton />
      </nav>
    </header>
  );
}

function Figure({ name, value }: { name: string; value: string }): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function textOf(ms: number | undefined): string {
  return ms === undefined ? "–" : durationText(ms);
}

function runningOf({ state }: FeedView): number {
  let running = 0;
  for (const { kind } of state.running.values()) if (kind !== "queued") running++;
  return running;
}
