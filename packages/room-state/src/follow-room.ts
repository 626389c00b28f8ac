import { type LogLevel, withRemarks } from "./log.ts";
import { reduce } from "./reduce.ts";
import { resync } from "./resync.ts";
import type { RoomSource } from "./room-source.ts";
import { initialState, type RoomState } from "./state.ts";
import { isWatched, watchedUntil } from "./watched.ts";

/** The connection to the hub. */
export type Link =
  | { kind: "opening" }
  | { kind: "open" }
  | {
      kind: "broken";
      reason: string;
      /** until the next attempt */
      retryInMs: number;
    };

export interface FollowOptions {
  signal: AbortSignal;
  /** epoch ms */
  nowMs: () => number;
  /** Called after each change of either; with many events often, so draw on a timer. */
  onChange: (state: RoomState, link: Link) => void;
  /** the state to start from, such as that of a previous call; default: an empty one */
  from?: RoomState | undefined;
}

/**
 * Keeps the state of a room until the signal aborts. Each time the stream opens, the lists are read; events wait until they
 * have been applied, so that no change is lost between the two.
 *
 * Lists that cannot be read end it the first time; after a reconnect they are read again with the next event.
 * When the stream ends by itself, `onChange` is called once more, because the room is no longer watched.
 *
 * @throws what the source throws: a failure of the first attempt, or one that a retry cannot fix
 */
export async function followRoom(source: RoomSource, options: FollowOptions): Promise<void> {
  const { nowMs, onChange } = options;
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  let state = options.from ?? initialState();
  let link: Link = { kind: "opening" };
  let hasRead = false;
  /** Resolves with whether the lists were read and applied. */
  let reading: Promise<boolean> = Promise.resolve(true);

  const change = (next: RoomState, nextLink: Link = link) => {
    state = next;
    link = nextLink;
    onChange(state, link);
  };
  const noted = (level: LogLevel, text: string) => withRemarks(state, [{ level, text }], nowMs());
  const read = async (): Promise<boolean> => {
    try {
      const lists = await source.lists(signal);
      hasRead = true;
      change(resync(state, lists, nowMs()));
      return true;
    } catch (error) {
      if (!hasRead) stop.abort(error);
      else if (!signal.aborted) change(noted("warning", unread(error)));
      return false;
    }
  };

  const lost = () => ({ ...state, watched: watchedUntil(state.watched, nowMs()) });

  const events = source.events({
    signal,
    onOpen: () => {
      const isReopened = link.kind !== "open" && state.isSynced;
      change(isReopened ? noted("info", "connected again") : state, { kind: "open" });
      reading = read();
    },
    onDisconnect: (reason, retryInMs) => {
      state = lost();
      change(noted("warning", `disconnected: ${reason}`), { kind: "broken", reason, retryInMs });
    },
    onInvalidEvent: (problem) => change(noted("warning", problem)),
  });
  try {
    for await (const event of events) {
      if (!(await reading)) reading = read();
      await reading;
      change(reduce(state, event, nowMs()));
    }
    await reading;
  } finally {
    if (!options.signal.aborted && isWatched(state)) change(lost());
  }
  if (stop.signal.aborted) throw stop.signal.reason;
}

function unread(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `the room's lists could not be read: ${reason}`;
}
