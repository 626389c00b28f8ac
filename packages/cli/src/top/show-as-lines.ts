import type { Invite } from "@roomhub/client";
import type { LogLine } from "@roomhub/room-state";
import type { CliContext } from "../context.ts";
import { createRowFeed } from "../terminal/row-feed.ts";
import { clockTime, colorsFor, safe } from "../terminal/text.ts";
import type { Show } from "./show.ts";

/** Prints each line of the room's log, for a pipe. Lines about requests are rate-limited. */
export function showAsLines(context: CliContext, { room: code }: Invite): Show {
  const feed = createRowFeed(context, context.stdout);
  const colors = colorsFor(context, context.stdout);
  let printed = 0;
  let isWatching = false;
  const lineOf = ({ atMs, text }: LogLine) => `${colors.dim(clockTime(atMs))} ${safe(text)}`;
  return {
    update({ log, logged }, link) {
      if (link.kind === "open" && !isWatching) {
        isWatching = true;
        context.stderr.write(`watching room ${code}\n`);
      }
      const fresh = log.slice(Math.max(0, log.length - (logged - printed)));
      printed = logged;
      for (const line of fresh) {
        if (line.requestId === undefined) feed.line(lineOf(line));
        else feed.row({ render: () => lineOf(line), isFailed: line.level === "error" });
      }
    },
    close() {
      feed.close();
    },
  };
}
