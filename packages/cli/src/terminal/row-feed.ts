import type { Timer } from "@roomhub/protocol";
import type { CliContext, Terminal } from "../context.ts";
import { colorsFor } from "./text.ts";

/** More rows a second no one can follow. */
const mostPerSecond = 20;
const secondMs = 1_000;

/** A row that is left out when too many arrive. */
export interface Row {
  /** Called only for a row that is shown. */
  render: () => string;
  isFailed: boolean;
}

/**
 * Rate-limited rows, such as requests: at most 20 a second, and one row that counts the rest. Rows of one turn of the event
 * loop are written together, so the cost stays bounded under load.
 */
export type RowFeed = ReturnType<typeof createRowFeed>;

export function createRowFeed(context: CliContext, terminal: Terminal) {
  const colors = colorsFor(context, terminal);
  let pending = "";
  let shown = 0;
  let more = 0;
  let failed = 0;
  const { world } = context;
  let flushing: Timer | undefined;
  let second: Timer | undefined;

  function flush(): void {
    world.clearTimeout(flushing);
    if (pending !== "") terminal.write(pending);
    pending = "";
  }

  function put(text: string): void {
    if (pending === "") flushing = world.setTimeout(flush, 0);
    pending += `${text}\n`;
  }

  function endSecond(): void {
    world.clearTimeout(second);
    second = undefined;
    if (more > 0) put(colors.dim(`… ${more} more, ${failed} failed`));
    shown = more = failed = 0;
  }

  const hasRoom = () => shown < mostPerSecond;

  return {
    /** Whether a row added now is shown. */
    hasRoom,
    row({ render, isFailed }: Row): void {
      second ??= world.setTimeout(endSecond, secondMs);
      if (hasRoom()) {
        shown++;
        put(render());
        return;
      }
      more++;
      if (isFailed) failed++;
    },
    /** A line that is never left out, written after pending rows. */
    line(text: string): void {
      pending += `${text}\n`;
      flush();
    },
    /** Writes pending rows, before output elsewhere. */
    flush,
    /** Writes pending rows, and how many were left out. */
    close(): void {
      endSecond();
      flush();
    },
  };
}
