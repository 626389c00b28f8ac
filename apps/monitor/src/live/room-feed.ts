import { isHubUnreachableError, isRoomhubError } from "@roomhub/client";
import {
  followRoom,
  initialState,
  type Link,
  type RoomSource,
  type RoomState,
} from "@roomhub/room-state";

/** Why the room is not shown, and when the next attempt is. */
interface FeedProblem {
  message: string;
  /** the next step; undefined when the hub names none */
  hint: string | undefined;
  retryAtMs: number;
}

/** What the page knows now. */
export interface FeedView {
  state: RoomState;
  link: Link;
  problem: FeedProblem | undefined;
}

export interface FeedOptions {
  signal: AbortSignal;
  /** epoch ms */
  nowMs: () => number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  onChange: (view: FeedView) => void;
}

const unreachableRetryMs = 2_000;
/** The hub responded that there is no such room: a person has to change something first. */
const refusedRetryMs = 5_000;

/** Follows a room until the signal aborts, and begins again after a failure: a page is not restarted like a command. */
export async function runFeed(source: RoomSource, options: FeedOptions): Promise<void> {
  const { signal, nowMs, sleep, onChange } = options;
  let view: FeedView = { state: initialState(), link: { kind: "opening" }, problem: undefined };
  const change = (next: FeedView) => {
    view = next;
    onChange(view);
  };
  while (!signal.aborted) {
    try {
      await followRoom(source, {
        signal,
        nowMs,
        onChange: (state, link) => {
          // What was known stays on the page until the room can be read again.
          const shown = state.isSynced || !view.state.isSynced ? state : view.state;
          const problem = link.kind === "open" && state.isSynced ? undefined : view.problem;
          change({ state: shown, link, problem });
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      const retryMs = isRoomhubError(error) ? refusedRetryMs : unreachableRetryMs;
      const problem = { ...describe(error), retryAtMs: nowMs() + retryMs };
      const reason = problem.message;
      change({ ...view, link: { kind: "broken", reason, retryInMs: retryMs }, problem });
      await sleep(retryMs, signal);
    }
  }
}

function describe(error: unknown): Pick<FeedProblem, "message" | "hint"> {
  const message = error instanceof Error ? error.message : String(error);
  const hint = isRoomhubError(error) || isHubUnreachableError(error) ? error.hint : undefined;
  return { message, hint };
}
