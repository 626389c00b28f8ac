import { followRoom, roomSource } from "@roomhub/room-state";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { addHubOption, givenHub } from "../options.ts";
import { locateRoom, type Named } from "../rooms/locate.ts";
import { untilStopped } from "../terminal/stop-signal.ts";
import { showOnScreen } from "../top/show-on-screen.ts";
import { showAsLines } from "../top/show-as-lines.ts";

export function addTopCommand(program: Command, context: CliContext): void {
  const command = addHubOption(
    program
      .command("top")
      .argument("[room]", "room code, invite URL or hub URL (default: the hub's only room)")
      .description("watch a room: participants, running requests, figures, log"),
  )
    .addHelpText(
      "after",
      "\nExample:\n  $ roomhub top ABC234\n\nq or Ctrl+C quits. In a pipe, one line per finished request and change.",
    )
    .action((target: string | undefined) => watch(context, { target, hubUrl: givenHub(command) }));
}

async function watch(context: CliContext, named: Named): Promise<void> {
  const invite = await locateRoom(context, named, (url) => `top ${url}`);
  await untilStopped(context, async (stopped) => {
    const quit = new AbortController();
    const signal = AbortSignal.any([stopped, quit.signal]);
    const canDraw = context.stdout.isTTY && context.env["TERM"] !== "dumb";
    const show = canDraw
      ? showOnScreen(context, invite, () => quit.abort())
      : showAsLines(context, invite);
    // A second signal exits at once, and must find the terminal restored.
    signal.addEventListener("abort", () => show.close(), { once: true });
    try {
      await followRoom(roomSource(context.createClient(invite.hubUrl), invite.room), {
        signal,
        nowMs: context.nowMs,
        onChange: (state, link) => show.update(state, link),
      });
    } finally {
      show.close();
    }
  });
}
