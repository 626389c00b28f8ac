import { followRoom, type LogLine, roomSource } from "@roomhub/room-state";
import type { Invite } from "@roomhub/client";
import type { CliContext } from "../../context.ts";
import type { HubOptionValues, RoomhubCommand } from "../../options.ts";
import { locateRoom } from "../../rooms/locate.ts";
import { untilStopped } from "../../terminal/stop-signal.ts";
import { ScreenShow } from "./screen-show.ts";
import { canErase } from "../../terminal/interactivity.ts";
import { createRowFeed } from "../../terminal/row-feed.ts";
import { clockTime, colorsFor, safe } from "../../terminal/text.ts";
import type { Show } from "./view.ts";
import { examples } from "../../command-list.ts";

export function addTopCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("top")
    .hubOption()
    .argument("[room]", "room code, invite URL or hub URL (default: the hub's only room)")
    .addHelpText(
      "after",
      `${examples("roomhub top ABC234")}\n\nq or Ctrl+C quits. In a pipe, one line per finished request and change.`,
    )
    .action((target: string | undefined, options: HubOptionValues) =>
      watch(context, target, options),
    );
}

async function watch(
  context: CliContext,
  target: string | undefined,
  options: HubOptionValues,
): Promise<void> {
  const invite = await locateRoom(context, target, options, (url) => `top ${url}`);
  await untilStopped(context, async (stopped) => {
    const quit = new AbortController();
    const signal = AbortSignal.any([stopped, quit.signal]);
    const show = canErase(context, context.stdout)
      ? new ScreenShow(context, { ...invite, onQuit: () => quit.abort() })
      : showAsLines(context, invite);
    // A second signal exits at once, and must find the terminal restored.
    signal.addEventListener("abort", () => show.close(), { once: true });
    try {
      await followRoom(roomSource(context.createClient(invite.hubUrl), invite.room), {
        signal,
        nowMs: () => context.world.wallMs(),
        onChange: (state, link) => show.update(state, link),
      });
    } finally {
      show.close();
    }
  });
}

/** Prints each line of the room's log, for a pipe. Lines about requests are rate-limited. */
function showAsLines(context: CliContext, { room: code }: Invite): Show {
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
