import { stripVTControlCharacters } from "node:util";
import type { Terminal } from "../../context.ts";
import { displayWidth } from "../../terminal/display-width.ts";

/** xterm's private modes: the alternate screen, the cursor, automatic line breaks. */
const enterSequence = "\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J";
const leaveSequence = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const eraseToEnd = "\u001b[K";

/** A terminal's alternate screen. Both `enter` and `leave` may be called again. */
export interface Screen {
  enter(): void;
  /** Restores what the terminal showed before, and its cursor. */
  leave(): void;
  /** Shows a frame: one write with the lines that changed, none when nothing did. */
  draw(lines: readonly string[]): void;
  /** Draws everything with the next frame. */
  redraw(): void;
}

export function createScreen(terminal: Terminal): Screen {
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
    leave() {
      if (!isEntered) return;
      isEntered = false;
      terminal.write(leaveSequence);
    },
    draw(lines) {
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
    redraw() {
      drawn = [];
    },
  };
}
