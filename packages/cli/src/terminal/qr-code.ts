import { renderUnicodeCompact } from "uqr";
import type { CliContext, Terminal } from "../context.ts";
import { displayWidth } from "./display-width.ts";
import { colorsFor } from "./text.ts";

/** ISO 18004 requires four; phones scan with two, and terminals are small. */
const quietZone = 2;
const indent = "  ";

/**
 * A QR code in half blocks, as lines with line breaks; empty where it cannot be scanned: in a pipe, on a dumb or narrow
 * terminal, on one that is not high enough. Drawn light on dark with explicit colours, so that a light terminal does not
 * invert it.
 *
 * @param rowsBeside - rows that have to stay on the screen with it
 */
export function qrCode(
  context: CliContext,
  terminal: Terminal,
  text: string,
  rowsBeside: number,
): string {
  if (!terminal.isTTY || context.env["TERM"] === "dumb") return "";
  const lines = renderUnicodeCompact(text, { border: quietZone }).split("\n");
  const width = displayWidth(lines[0] ?? "") + indent.length;
  if (terminal.columns === undefined || terminal.columns <= width) return "";
  if (terminal.rows === undefined || terminal.rows < lines.length + rowsBeside) return "";
  const colors = colorsFor(context, terminal);
  return lines.map((line) => `${indent}${colors.bgBlack(colors.whiteBright(line))}\n`).join("");
}
