const levels = "▁▂▃▄▅▆▇█";

/**
 * Values as a line of blocks, the highest as the tallest; a space for what is not known.
 *
 * @param cells - of the line; the newest values are shown
 */
export function sparkline(values: readonly (number | undefined)[], cells: number): string {
  const shown = values.slice(-Math.max(0, cells));
  if (cells <= 0) return "";
  const most = Math.max(0, ...shown.map((value) => value ?? 0));
  return shown
    .map((value) => {
      if (value === undefined) return " ";
      const level = most === 0 ? 0 : Math.round((value / most) * (levels.length - 1));
      return levels[level] ?? " ";
    })
    .join("");
}

/** The cells of a bar of slots at most; a participant with more has several slots in one cell. */
export const BAR_CELLS = 8;

/** Slots as a bar: `█` busy with requests of the room, `▒` with other work, `·` free. */
export function slotBar({
  active,
  elsewhere,
  limit,
}: {
  active: number;
  elsewhere: number;
  limit: number;
}): string {
  const cells = Math.min(BAR_CELLS, Math.max(1, limit));
  const scale = cells / Math.max(1, limit);
  // A single running request is visible however many slots there are.
  const busy = Math.min(cells, Math.ceil(active * scale));
  const other = Math.min(cells - busy, Math.ceil(elsewhere * scale));
  return "█".repeat(busy) + "▒".repeat(other) + "·".repeat(cells - busy - other);
}
