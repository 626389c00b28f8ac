import type { Invite } from "@roomhub/client";
import type { Link, RoomState } from "@roomhub/room-state";
import type { CliContext } from "../context.ts";
import { colorsFor } from "../terminal/text.ts";
import { explanationLines, renderFrame } from "./frame.ts";
import { createScreen } from "./screen.ts";
import type { Show } from "./view.ts";

/** At most ten frames a second. */
const frameMs = 100;
/** Without a change or a running request, only the figures of 15 minutes move. */
const idleFrameMs = 1_000;

/**
 * Draws a room on the terminal's alternate screen, from the first state on, so that an error at the start is an ordinary
 * line. `q` quits, `?` explains what is shown, Ctrl+L draws everything again.
 */
export function showOnScreen(
  context: CliContext,
  { hubUrl, room: code }: Invite,
  onQuit: () => void,
): Show {
  const { stdout: terminal } = context;
  const screen = createScreen(terminal);
  const colors = colorsFor(context, terminal);
  let current: { state: RoomState; link: Link } | undefined;
  let drawn: typeof current;
  let drawnMs = 0;
  let drawnSize = "";
  let cancelFrame = () => {};
  let isExplained = false;
  let isClosed = false;

  const draw = () => {
    cancelFrame = context.after(frameMs, draw);
    if (current === undefined) return;
    const { columns = 80, rows = 24 } = terminal;
    const nowMs = context.nowMs();
    const size = `${columns}×${rows}`;
    const isIdle = current === drawn && current.state.running.size === 0 && size === drawnSize;
    if (isIdle && nowMs - drawnMs < idleFrameMs) return;
    drawn = current;
    drawnMs = nowMs;
    drawnSize = size;
    const view = { ...current, hubUrl, code, nowMs, columns, rows, colors };
    screen.draw(isExplained ? explanationLines(view) : renderFrame(view));
  };
  const redraw = () => {
    screen.redraw();
    drawn = undefined;
  };
  const releaseKeys = context.onKey(
    (key) => {
      if (key === "q" || key === "Q") onQuit();
      if (key === "\u000c") redraw();
      if (key === "?") {
        isExplained = !isExplained;
        drawn = undefined;
      }
    },
    {
      leave: () => screen.leave(),
      enter: () => {
        if (isClosed || current === undefined) return;
        screen.enter();
        redraw();
      },
    },
  );

  return {
    update(state, link) {
      if (isClosed) return;
      const isFirst = current === undefined;
      current = { state, link };
      if (!isFirst) return;
      screen.enter();
      draw();
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      cancelFrame();
      releaseKeys();
      screen.leave();
    },
  };
}
