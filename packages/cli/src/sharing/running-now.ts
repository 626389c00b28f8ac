import { clientText, type Timer } from "@roomhub/protocol";
import type { RunningRequest } from "@roomhub/participant";
import type { CliContext, Terminal } from "../context.ts";
import type { RunningParticipant } from "../capabilities.ts";
import { cutTo, displayWidth, padTo } from "../terminal/display-width.ts";
import { type Colors, colorsFor, countOf, safe } from "../terminal/text.ts";

/** So few that a small terminal has room for the rows of finished requests. */
const shownRequests = 4;
const secondMs = 1_000;

/** What all of them serve now, the longest first. */
export function runningNow(participants: readonly RunningParticipant[]): RunningRequest[] {
  return participants
    .flatMap((participant) => participant.running())
    .toSorted((one, other) => other.runsMs - one.runsMs);
}

/** Shows below the rows of finished requests who uses the machine now: name, model, seconds, tokens. */
export function showRunning(context: CliContext, participants: readonly RunningParticipant[]) {
  const colors = colorsFor(context, context.stderr);
  const live = createLiveLines(context.stderr, () =>
    runningLines(runningNow(participants), context.stderr.columns ?? 80, colors),
  );
  const { world } = context;
  let ticking: Timer | undefined;
  const tick = () => {
    live.refresh();
    const isBusy = runningNow(participants).length > 0;
    ticking = isBusy ? world.setTimeout(tick, secondMs) : undefined;
  };
  return {
    ...live,
    /** A request has started: it is shown, and its time and tokens once a second. */
    start() {
      // In the same turn of the event loop many may start.
      ticking ??= world.setTimeout(tick, 0);
    },
    close() {
      world.clearTimeout(ticking);
      live.leave();
    },
  };
}

/** `now  alice  llama3.2:3b  12 s  ≈340 tokens`, one line each. */
export function runningLines(
  requests: readonly RunningRequest[],
  columns: number,
  colors: Colors,
): string[] {
  const shown = requests.slice(0, shownRequests).map(({ client, model, runsMs, outputTokens }) => [
    safe(clientText(client) ?? "-"),
    safe(model),
    `${Math.floor(runsMs / secondMs)} s`,
    // Pieces of content stand for tokens: about one each.
    outputTokens === undefined ? "" : `≈${countOf(outputTokens, "token")}`,
  ]);
  const widths = [0, 1, 2].map((index) =>
    Math.max(...shown.map((cells) => displayWidth(cells[index] ?? ""))),
  );
  const lines = shown.map((cells) =>
    cells.map((cell, index) => padTo(cell, widths[index] ?? 0, index === 2 ? "left" : "right")),
  );
  const more = requests.length - shown.length;
  return [
    ...lines.map((cells) => cells.join("  ").trimEnd()),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].map((line) => colors.cyan(cutTo(`now  ${line}`, columns - 1)));
}

/**
 * Lines that stay below everything else on a terminal and change in place, such as what runs now.
 *
 * @param render - the lines as they are now, each shorter than the terminal is wide
 */
function createLiveLines(terminal: Terminal, render: () => readonly string[]) {
  let drawn = "";
  let isShown = true;

  /** One write, so that the terminal shows nothing in between. */
  function draw(above: string): void {
    const lines = isShown ? render().map((line) => `${line}\n`) : [];
    const below = lines.join("");
    if (above === "" && below === drawn) return;
    const count = drawn.split("\n").length - 1;
    terminal.write(`${count === 0 ? "" : `\r\u001b[${count}A\u001b[J`}${above}${below}`);
    drawn = below;
  }

  return {
    /** Writes whole lines above them. */
    terminal: {
      write: draw,
      isTTY: terminal.isTTY,
      get columns() {
        return terminal.columns;
      },
      get rows() {
        return terminal.rows;
      },
    },
    refresh: () => draw(""),
    /** Erases them, until `enter`. */
    leave() {
      isShown = false;
      draw("");
    },
    enter() {
      isShown = true;
      draw("");
    },
  };
}
