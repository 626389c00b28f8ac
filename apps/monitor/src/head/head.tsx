import type { Invite } from "@roomhub/client";
import { roomFigures, type RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { FeedProblem } from "../live/room-feed.ts";
import { clockText, countText, durationText, rateText, spanText } from "../parts/figure-text.ts";
import { type ViewName, VIEWS } from "./views.ts";

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
      {state.isSynced ? <KeyFigures state={state} nowMs={nowMs} /> : null}
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

const themes = ["auto", "dark", "light"] as const;
type Theme = (typeof themes)[number];
const storageKey = "roomhub.theme";

/** Changes between the system's theme, the dark and the light one; kept for the next visit. */
function ThemeButton(): VNode {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  // Before it is shown: a page that is left at once keeps it, too.
  useLayoutEffect(() => {
    document.documentElement.style.colorScheme = theme === "auto" ? "" : theme;
    try {
      localStorage.setItem(storageKey, theme);
    } catch {
      // Storage is refused here: the theme holds until the page is closed.
    }
  }, [theme]);
  return (
    <button
      type="button"
      class={`theme-button is-${theme}`}
      aria-label={`Theme: ${theme}`}
      title={`Theme: ${theme}`}
      onClick={() => setTheme(themes[(themes.indexOf(theme) + 1) % themes.length] ?? "auto")}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="6" />
        {theme === "auto" ? <path class="filled" d="M8 2a6 6 0 0 1 0 12z" /> : null}
        {theme === "dark" ? <circle class="filled" cx="8" cy="8" r="6" /> : null}
      </svg>
    </button>
  );
}

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(storageKey);
    return themes.find((theme) => theme === stored) ?? "auto";
  } catch {
    return "auto";
  }
}

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
