import { appended } from "./immutable.ts";
import { LOG_LINES } from "./log.ts";
import type { Remark } from "./log-text.ts";
import type { RoomState } from "./state.ts";

/** Adds lines to the log, all at the same time; the oldest are dropped beyond 1,000. */
export function withRemarks(
  state: RoomState,
  remarks: readonly Remark[],
  nowMs: number,
): RoomState {
  let { log, logged } = state;
  for (const { level, text, requestId } of remarks) {
    logged++;
    log = appended(log, { sequence: logged, atMs: nowMs, level, text, requestId }, LOG_LINES);
  }
  return { ...state, log, logged };
}
