import type { Timer } from "@roomhub/protocol";
import type { Invite } from "@roomhub/client";
import type { Link, RoomState } from "@roomhub/room-state";
import type { CliContext } from "../../context.ts";
import { colorsFor, type Colors } from "../../terminal/text.ts";
import { explanationLines, renderFrame } from "./frame.ts";
import { createScreen, type Screen } from "./screen.ts";
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
  readonly #screen: Screen;
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
