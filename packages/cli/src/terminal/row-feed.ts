import type { CliContext, Terminal } from "../context.ts";
import { colorsFor } from "./text.ts";

/** As many as a person can follow. */
const mostPerSecond = 20;
const secondMs = 1_000;

/** A row that is shown only where there is room for it. */
export interface Row {
  /** Called only when it is shown. */
  render: () => string;
  isFailed: boolean;
}

/**
 * Rows of what comes often, such as requests: at most 20 a second, and one row that counts the rest. Rows of one turn of the
 * event loop leave in one write. What a row costs is thereby bounded, however busy the program is.
 */
export interface RowFeed {
  row(row: Row): void;
  /** Whether a row that comes now is shown. */
  hasRoom(): boolean;
  /** A line that is never left out, behind the rows before it. */
  line(text: string): void;
  /** Writes what waits, before something is said elsewhere. */
  flush(): void;
  /** Writes what waits, and how many rows were left out. */
  close(): void;
}

export function createRowFeed(context: CliContext, terminal: Terminal): RowFeed {
  const colors = colorsFor(context, terminal);
  let waiting = "";
  let shown = 0;
  let more = 0;
  let failed = 0;
  let cancelFlush = () => {};
  let cancelSecond: (() => void) | undefined;

  function flush(): void {
    cancelFlush();
    if (waiting !== "") terminal.write(waiting);
    waiting = "";
  }

  function put(text: string): void {
    if (waiting === "") cancelFlush = context.after(0, flush);
    waiting += `${text}\n`;
  }

  function endSecond(): void {
    cancelSecond?.();
    cancelSecond = undefined;
    if (more > 0) put(colors.dim(`… ${more} more, ${failed} failed`));
    shown = more = failed = 0;
  }

  const hasRoom = () => shown < mostPerSecond;

  return {
    hasRoom,
    row({ render, isFailed }) {
      cancelSecond ??= context.after(secondMs, endSecond);
      if (hasRoom()) {
        shown++;
        put(render());
        return;
      }
      more++;
      if (isFailed) failed++;
    },
    line(text) {
      waiting += `${text}\n`;
      flush();
    },
    flush,
    close() {
      endSecond();
      flush();
    },
  };
}
