import { appended } from "./immutable.ts";
import { LOG_LINES, type LogLevel } from "./log.ts";
import type { Remark } from "./log-text.ts";
import type { RoomState } from "./state.ts";

/** Adds a line to the log; the oldest is dropped when there are {@link LOG_LINES}. */
export function withLine(
  state: RoomState,
  level: LogLevel,
  text: string,
  nowMs: number,
): RoomState {
  const sequence = state.logged + 1;
  const log = appended(state.log, { sequence, atMs: nowMs, level, text }, LOG_LINES);
  return { ...state, log, logged: sequence };
}

/** Adds lines, all at the same time. */
export function withRemarks(
  state: RoomState,
  remarks: readonly Remark[],
  nowMs: number,
): RoomState {
  return remarks.reduce((next, { level, text }) => withLine(next, level, text, nowMs), state);
}
