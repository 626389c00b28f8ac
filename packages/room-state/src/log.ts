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
