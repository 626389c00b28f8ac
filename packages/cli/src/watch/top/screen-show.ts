import { stripVTControlCharacters } from "node:util";
import type { Invite } from "@roomhub/client";
import type { Timer } from "@roomhub/protocol";
import type { Link, RoomState } from "@roomhub/room-state";
import type { CliContext, Terminal } from "../../context.ts";
import { displayWidth } from "../../terminal/display-width.ts";
import { type Colors, colorsFor } from "../../terminal/text.ts";
import { explanationLines, renderFrame } from "./frame.ts";
import type { Show } from "./view.ts";

/** At most ten frames a second. */
const frameMs = 100;
/** Without a change or a running request, only the figures of 15 minutes move. */
const idleFrameMs = 1_000;

interface Options extends Invite {
  onQuit: () => void;
}

/**
 * Draws a room on the terminal's alternate screen, from the first state on, so that an error at the start is an ordinary
 * line. `q` quits, `?` explains what is shown, Ctrl+L draws everything again.
 */
export class ScreenShow implements Show {
  readonly #context: CliContext;
  readonly #options: Options;
  readonly #screen: ReturnType<typeof createScreen>;
  readonly #colors: Colors;
  readonly #releaseKeys: () => void;
  #current: { state: RoomState; link: Link } | undefined;
  /** what the last frame showed, and when; undefined to draw the next one in any case */
  #drawn: { current: { state: RoomState; link: Link }; nowMs: number; size: string } | undefined;
  #nextFrame: Timer | undefined;
  #isExplained = false;
  #isClosed = false;

  constructor(context: CliContext, options: Options) {
    this.#context = context;
    this.#options = options;
    this.#screen = createScreen(context.stdout);
    this.#colors = colorsFor(context, context.stdout);
    this.#releaseKeys = context.onKey((key) => this.#onKey(key), {
      leave: () => this.#screen.leave(),
      enter: () => {
        if (this.#isClosed || this.#current === undefined) return;
        this.#screen.enter();
        this.#redraw();
      },
    });
  }

  update(state: RoomState, link: Link): void {
    if (this.#isClosed) return;
    const isFirst = this.#current === undefined;
    this.#current = { state, link };
    if (!isFirst) return;
    this.#screen.enter();
    this.#draw();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#context.world.clearTimeout(this.#nextFrame);
    this.#releaseKeys();
    this.#screen.leave();
  }

  #onKey(key: string): void {
    if (key === "q" || key === "Q") this.#options.onQuit();
    if (key === "\u000c") this.#redraw();
    if (key !== "?") return;
    this.#isExplained = !this.#isExplained;
    this.#drawn = undefined;
  }

  #redraw(): void {
    this.#screen.redraw();
    this.#drawn = undefined;
  }

  #draw(): void {
    this.#nextFrame = this.#context.world.setTimeout(() => this.#draw(), frameMs);
    const current = this.#current;
    if (current === undefined) return;
    const { columns = 80, rows = 24 } = this.#context.stdout;
    const nowMs = this.#context.world.wallMs();
    const size = `${columns}×${rows}`;
    const drawn = this.#drawn;
    const isIdle =
      drawn?.current === current && current.state.running.size === 0 && size === drawn.size;
    if (isIdle && nowMs - drawn.nowMs < idleFrameMs) return;
    this.#drawn = { current, nowMs, size };
    const { hubUrl, room: code } = this.#options;
    const view = { ...current, hubUrl, code, nowMs, columns, rows, colors: this.#colors };
    this.#screen.draw(this.#isExplained ? explanationLines(view) : renderFrame(view));
  }
}

/** xterm's private modes: the alternate screen, the cursor, automatic line breaks. */
const enterSequence = "\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J";
const leaveSequence = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const eraseToEnd = "\u001b[K";

/** A terminal's alternate screen. Both `enter` and `leave` may be called again. */
export function createScreen(terminal: Terminal) {
  let isEntered = false;
  let drawn: readonly string[] = [];
  let size = "";

  return {
    enter() {
      if (isEntered) return;
      isEntered = true;
      drawn = [];
      terminal.write(enterSequence);
    },
    /** Restores what the terminal showed before, and its cursor. */
    leave() {
      if (!isEntered) return;
      isEntered = false;
      terminal.write(leaveSequence);
    },
    /** Shows a frame: one write with the lines that changed, none when nothing did. */
    draw(lines: readonly string[]) {
      if (!isEntered) return;
      const { columns = 80, rows = 24 } = terminal;
      const newSize = `${columns}×${rows}`;
      // After a change of its size a terminal shows the old lines moved or cut.
      const isNew = newSize !== size || drawn.length === 0;
      size = newSize;
      let text = isNew ? "\u001b[2J" : "";
      for (const [index, line] of lines.entries()) {
        if (!isNew && drawn[index] === line) continue;
        if (isNew && line === "") continue;
        // At the last column, erasing would remove the character that was just written.
        const isFull = displayWidth(stripVTControlCharacters(line)) >= columns;
        text += `\u001b[${index + 1};1H${line}${isFull ? "" : eraseToEnd}`;
      }
      drawn = lines;
      if (text !== "") terminal.write(text);
    },
    /** Draws everything with the next frame. */
    redraw() {
      drawn = [];
    },
  };
}
