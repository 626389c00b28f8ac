import { renderUnicodeCompact } from "uqr";
import type { CliContext, Terminal } from "../context.ts";
import { displayWidth } from "./display-width.ts";
import { colorsFor } from "./text.ts";

/** ISO 18004 asks for four; scanners on phones do with two, and terminals are small. */
const quietZone = 2;
const indent = "  ";

/**
 * A QR code in half blocks, as lines with their ends, or nothing where it could not be scanned: in a pipe, on a terminal that
 * is dumb or too narrow. Drawn light on dark, as most terminals are; with colours it says so, and a light one does not
 * turn it round.
 */
export function qrCode(context: CliContext, terminal: Terminal, text: string): string {
  if (!terminal.isTTY || context.env["TERM"] === "dumb") return "";
  const lines = renderUnicodeCompact(text, { border: quietZone }).split("\n");
  const width = displayWidth(lines[0] ?? "") + indent.length;
  if (terminal.columns === undefined || terminal.columns <= width) return "";
  const colors = colorsFor(context, terminal);
  return lines.map((line) => `${indent}${colors.bgBlack(colors.whiteBright(line))}\n`).join("");
}
