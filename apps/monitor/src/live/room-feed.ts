import { type Invite, isHubUnreachableError, isRoomhubError } from "@roomhub/client";
import {
  followRoom,
  initialState,
  isWatched,
  type RoomSource,
  type RoomState,
} from "@roomhub/room-state";

/** Why the room is not shown as it is now. */
export interface FeedProblem {
  /** for people, who have a browser and no command line */
  text: string;
  /** epoch ms; undefined: only when a person retries, since nothing else changes it */
  retryAtMs: number | undefined;
  /** The room is closed, and this page has no key that it accepts. */
  needsKey: boolean;
}

/** What the page knows now. */
export interface FeedView {
  state: RoomState;
  /** undefined while the room is shown as it is, and until the first attempt has failed */
  problem: FeedProblem | undefined;
}

export interface FeedOptions extends Invite {
  signal: AbortSignal;
  /** epoch ms */
  nowMs: () => number;
  /** Resolves after `ms`, or when the signal aborts. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  onChange: (view: FeedView) => void;
}

const unreachableRetryMs = 2_000;
/** The hub responded: a person may have to change something first. */
const refusedRetryMs = 5_000;
/** As good as never, and no more than a timer can take. */
const dayMs = 86_400_000;

/** Follows a room until the signal aborts, and begins again after a failure: a page is not restarted like a command. `retry` connects again at once. */
export function startFeed(source: RoomSource, options: FeedOptions) {
  const { signal, nowMs, sleep, onChange, hubUrl } = options;
  const lost = `No connection to the hub at ${hubUrl}`;
  let view: FeedView = { state: initialState(), problem: undefined };
  let attempt = new AbortController();
  const change = (next: Partial<FeedView>) => {
    view = { ...view, ...next };
    onChange(view);
  };
  const follow = (once: AbortSignal) =>
    followRoom(source, {
      signal: once,
      nowMs,
      // What was known stays on the page until the room can be read again.
      from: view.state,
      onChange: (state, link) => {
        if (link.kind === "open" && isWatched(state)) change({ state, problem: undefined });
        else if (link.kind !== "broken") change({ state });
        else
          change({
            state,
            problem: { text: lost, retryAtMs: nowMs() + link.retryInMs, needsKey: false },
          });
      },
    });
  const run = async () => {
    while (!signal.aborted) {
      attempt = new AbortController();
      const once = AbortSignal.any([signal, attempt.signal]);
      try {
        await follow(once);
      } catch (error) {
        if (once.aborted) continue;
        const retryMs = retryMsOf(error);
        const retryAtMs = retryMs === undefined ? undefined : nowMs() + retryMs;
        const text = problemText(error, options, lost);
        change({ problem: { text, retryAtMs, needsKey: needsKey(error) } });
        await sleep(retryMs ?? dayMs, once);
      }
    }
  };
  return { retry: () => attempt.abort(), ended: run() };
}

/** @returns undefined where only a person can change something */
function retryMsOf(error: unknown): number | undefined {
  if (isRoomhubError(error, "room_not_found") || needsKey(error)) return undefined;
  return isRoomhubError(error) ? refusedRetryMs : unreachableRetryMs;
}

function needsKey(error: unknown): boolean {
  return isRoomhubError(error) && error.status === 401;
}

/** In words for readers of the page: browser messages and commands of the terminal do not help them. */
function problemText(error: unknown, { hubUrl, room }: Invite, lost: string): string {
  if (isRoomhubError(error, "room_not_found")) return `The hub at ${hubUrl} has no room ${room}`;
  if (isRoomhubError(error, "invalid_api_key")) {
    return `Room ${room} is closed. Its host gives out keys`;
  }
  if (isHubUnreachableError(error)) return lost;
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/\.$/, "");
}
