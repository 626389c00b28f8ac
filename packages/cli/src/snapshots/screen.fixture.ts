import { PassThrough, Writable } from "node:stream";
import type { TerminalKeys } from "../terminal/keyboard.ts";
import { displayWidth } from "../terminal/display-width.ts";

const graphemes = new Intl.Segmenter();

/**
 * A terminal's screen, as far as questions use it: text, line breaks, moving the cursor, erasing. Colours are left out. What
 * it does not know it rejects, so that a test cannot pass with output that no terminal draws.
 */
export class Screen extends Writable {
  readonly isTTY = true;
  readonly columns: number;
  /** so many that nothing scrolls away */
  readonly rows = 200;
  /** cells; the right half of a wide character is an empty one */
  #lines: string[][] = [];
  #row = 0;
  #column = 0;

  constructor(columns: number) {
    super({ decodeStrings: false });
    this.columns = columns;
  }

  /** All that stands there now, as lines. */
  get shown(): string {
    return this.#lines.map((cells) => `${cells.join("").trimEnd()}\n`).join("");
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    // oxlint-disable-next-line no-control-regex -- what a terminal reads as commands: ECMA-48 §5.4 (CSI)
    for (const part of text.match(/\u001b\[\??[\d;]*[A-Za-z]|[\n\r]|[^\u001b\n\r]+/g) ?? []) {
      if (part.startsWith("\u001b")) this.#obey(part);
      else if (part === "\n") this.#moveTo(this.#row + 1, 0);
      else if (part === "\r") this.#column = 0;
      else for (const { segment } of graphemes.segment(part)) this.#put(segment);
    }
    done();
  }

  #put(grapheme: string): void {
    const width = displayWidth(grapheme);
    if (this.#column + width > this.columns) this.#moveTo(this.#row + 1, 0);
    const line = this.#line();
    while (line.length < this.#column) line.push(" ");
    line.splice(this.#column, width, grapheme, ...(width > 1 ? [""] : []));
    this.#column += width;
  }

  #obey(code: string): void {
    const count = Number(code.slice(2, -1).replace("?", "")) || 1;
    switch (code.at(-1)) {
      case "A":
        return this.#moveTo(this.#row - count, this.#column);
      case "B":
        return this.#moveTo(this.#row + count, this.#column);
      case "C":
        return this.#moveTo(this.#row, this.#column + count);
      case "D":
        return this.#moveTo(this.#row, this.#column - count);
      case "G":
        return this.#moveTo(this.#row, count - 1);
      case "J":
        this.#lines.splice(this.#row + 1);
        this.#line().splice(this.#column);
        return;
      case "K":
        this.#line().splice(code === "\u001b[2K" ? 0 : this.#column);
        return;
      case "h":
      case "l":
      case "m":
        return;
      default:
        throw new Error(`the screen does not know ${JSON.stringify(code)}`);
    }
  }

  #moveTo(row: number, column: number): void {
    this.#row = Math.max(0, row);
    this.#column = Math.max(0, column);
  }

  #line(): string[] {
    while (this.#lines.length <= this.#row) this.#lines.push([]);
    return this.#lines[this.#row] ?? [];
  }
}

/** Of a program that stays in the foreground. */
export const noKeys: TerminalKeys = {
  interrupt: () => {},
  suspend: async () => {},
  isInForeground: () => true,
};

/** What each key sends; xterm's control sequences. */
const keys = {
  "↓": "\u001b[B",
  "↑": "\u001b[A",
  Space: " ",
  Enter: "\r",
  "Ctrl+C": "\u0003",
  "Ctrl+D": "\u0004",
  "Ctrl+Z": "\u001a",
} as const;

export type Key = keyof typeof keys;

/** A keyboard whose keys are pressed one after the other. */
export class Keyboard extends PassThrough {
  readonly isTTY = true;
  isRaw = false;

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw;
    return this;
  }

  /** A key by its name, or text to type; resolves when the screen has followed. */
  async press(key: Key | (string & {})): Promise<void> {
    this.write(key in keys ? keys[key as Key] : key);
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  }
}
