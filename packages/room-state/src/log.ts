import { appended } from "./immutable.ts";

/** Lines that the log keeps. */
export const LOG_LINES = 1_000;

/** `warning`: something to look at; `error`: a request failed. */
export type LogLevel = "info" | "warning" | "error";

export interface LogLine {
  /** 1 for the first line, never repeated */
  readonly sequence: number;
  /** epoch ms on the watcher's clock */
  readonly atMs: number;
  readonly level: LogLevel;
  /** may contain control characters from the network: a terminal must replace them */
  readonly text: string;
  /** of a line about a request */
  readonly requestId: string | undefined;
}

/** A line of the log before it has a time. */
export interface Remark {
  level: LogLevel;
  text: string;
  /** when it is about a request */
  requestId?: string | undefined;
}

/** Adds lines to the log of a room, all at the same time; the oldest are dropped beyond {@link LOG_LINES}. */
export function withRemarks<State extends { log: readonly LogLine[]; logged: number }>(
  state: State,
  remarks: readonly Remark[],
  nowMs: number,
): State {
  let { log, logged } = state;
  for (const { level, text, requestId } of remarks) {
    logged++;
    log = appended(log, { sequence: logged, atMs: nowMs, level, text, requestId }, LOG_LINES);
  }
  return { ...state, log, logged };
}
