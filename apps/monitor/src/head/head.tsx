import type { Invite } from "@roomhub/client";
import { roomFigures, type RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { countText, durationText, rateText, spanText } from "../parts/figure-text.ts";
import { ThemeButton } from "./theme-button.tsx";
import { type ViewName, VIEWS } from "./view-name.ts";

export interface HeadProps {
  address: Invite;
  state: RoomState;
  isLive: boolean;
  nowMs: number;
  name: ViewName;
  isProjector: boolean;
  onProjector: () => void;
}

/** The room, whether it is connected, its figures, and the links to the views. */
export function Head(props: HeadProps): VNode {
  const { address, state, isLive, nowMs, name, isProjector, onProjector } = props;
  const { room } = state;
  return (
    <header class="head">
      <h1>
        <span class="room-name" title={room?.name}>
          {room?.name ?? "Room"}
        </span>{" "}
        <span class="code">{room?.code ?? address.room}</span>
      </h1>
      <p class={`link is-${isLive ? "live" : "lost"}`} role="status">
        {isLive ? "Live" : "Not connected"}
      </p>
      <KeyFigures state={state} nowMs={nowMs} />
      <nav aria-label="Views">
        {(Object.keys(VIEWS) as ViewName[]).map((view) => (
          <a key={view} href={`#${view}`} aria-current={view === name ? "page" : undefined}>
            {VIEWS[view]}
          </a>
        ))}
      </nav>
      <div class="head-buttons">
        <button
          type="button"
          class="projector-button"
          aria-label="Projector"
          title="Projector mode (p)"
          aria-pressed={isProjector}
          onClick={onProjector}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4" />
          </svg>
        </button>
        <ThemeButton />
      </div>
    </header>
  );
}

/** @param nowMs - a page that was opened late has fewer minutes to count */
function KeyFigures({ state, nowMs }: { state: RoomState; nowMs: number }): VNode {
  const figures = roomFigures(state, nowMs);
  const { sinceMs, tokensPerSecond, ttftP50Ms, requests, errors } = figures;
  return (
    <dl class="key-figures">
      <Figure name="tokens/s" value={rateText(tokensPerSecond)} />
      <Figure name="first token" value={ttftP50Ms === undefined ? "–" : durationText(ttftP50Ms)} />
      <Figure name={`requests in ${spanText(nowMs - sinceMs)}`} value={countText(requests)} />
      <Figure name="errors" value={String(errors)} />
    </dl>
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
