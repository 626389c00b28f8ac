import { expect, test } from "vitest";
import type { Terminal } from "../../context.ts";
import { createScreen } from "./screen-show.ts";

/** A terminal that keeps each write, and whose size a test sets. */
function aTerminal() {
  const terminal = {
    writes: [] as string[],
    isTTY: true,
    columns: 10 as number | undefined,
    rows: 3 as number | undefined,
    write(text: string) {
      this.writes.push(text);
    },
  };
  return terminal satisfies Terminal;
}

test("a frame is one write, with the lines that changed alone", () => {
  const terminal = aTerminal();
  const screen = createScreen(terminal);
  screen.enter();
  screen.draw(["one", "two", ""]);
  screen.draw(["one", "2", ""]);
  screen.draw(["one", "2", ""]);
  expect(terminal.writes).toEqual([
    "\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J",
    "\u001b[2J\u001b[1;1Hone\u001b[K\u001b[2;1Htwo\u001b[K",
    "\u001b[2;1H2\u001b[K",
  ]);
});

test("a line as wide as the terminal keeps its last character", () => {
  const terminal = aTerminal();
  const screen = createScreen(terminal);
  screen.enter();
  screen.draw(["\u001b[1m0123456789\u001b[22m"]);
  expect(terminal.writes.at(-1)).not.toContain("\u001b[K");
  screen.draw(["\u001b[1m012345678\u001b[22m"]);
  expect(terminal.writes.at(-1)).toContain("\u001b[K");
});

test("after a change of size, or when asked to, everything is drawn again", () => {
  const terminal = aTerminal();
  const screen = createScreen(terminal);
  screen.enter();
  screen.draw(["one", "two"]);
  terminal.columns = 20;
  screen.draw(["one", "two"]);
  screen.redraw();
  screen.draw(["one", "two"]);
  const whole = "\u001b[2J\u001b[1;1Hone\u001b[K\u001b[2;1Htwo\u001b[K";
  expect(terminal.writes.slice(1)).toEqual([whole, whole, whole]);
});

test("leaving restores the terminal once, and nothing is drawn afterwards", () => {
  const terminal = aTerminal();
  const screen = createScreen(terminal);
  screen.leave();
  screen.enter();
  screen.leave();
  screen.leave();
  screen.draw(["one"]);
  expect(terminal.writes.slice(1)).toEqual(["\u001b[?7h\u001b[?25h\u001b[?1049l"]);
});
