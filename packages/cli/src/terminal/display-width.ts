/** Printable ASCII fills one cell per character, so the text needs no segmentation. */
const plain = /^[\x20-\x7e]*$/;

/** Created on first use, since that takes some 20 ms. */
let graphemes: Intl.Segmenter | undefined;

/**
 * Fills two cells: East Asian wide and fullwidth characters, emoji, and characters that U+FE0F makes emoji. By blocks, not
 * by single characters; Unicode Standard Annex 11.
 */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;

/** Fills no cell: marks and format characters, such as the zero-width space. */
const empty = /^[\p{M}\p{Cf}]+$/u;

/** The terminal cells that a text without control characters fills. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let cells = 0;
  for (const { segment } of segmentsOf(text)) cells += widthOf(segment);
  return cells;
}

/** Truncates the text to a number of cells, marked by `…`, never inside a character. */
export function cutTo(text: string, cells: number): string {
  if (displayWidth(text) <= cells) return text;
  let kept = "";
  let left = cells - 1;
  if (left < 0) return "";
  if (plain.test(text)) return `${text.slice(0, left)}…`;
  for (const { segment } of segmentsOf(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Pads the text with spaces to a number of cells. */
export function padTo(text: string, cells: number, side: "left" | "right" = "right"): string {
  const spaces = " ".repeat(Math.max(0, cells - displayWidth(text)));
  return side === "right" ? text + spaces : spaces + text;
}

function segmentsOf(text: string): Intl.Segments {
  graphemes ??= new Intl.Segmenter();
  return graphemes.segment(text);
}

function widthOf(grapheme: string): number {
  if (empty.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}
