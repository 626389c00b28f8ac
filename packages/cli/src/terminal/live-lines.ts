import type { Terminal } from "../context.ts";

/** Lines that stay below everything else on a terminal and change in place, such as what runs now. */
export interface LiveLines {
  /** Writes whole lines above them. */
  readonly terminal: Terminal;
  /** Draws them anew. */
  refresh(): void;
  /** Erases them, until `enter`. */
  leave(): void;
  enter(): void;
}

/** @param render - the lines as they are now, each shorter than the terminal is wide */
export function createLiveLines(terminal: Terminal, render: () => readonly string[]): LiveLines {
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
