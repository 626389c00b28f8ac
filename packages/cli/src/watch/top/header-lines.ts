import { type Link, roomFigures, series } from "@roomhub/room-state";
import { displayWidth } from "../../terminal/display-width.ts";
import type { Cell } from "../../terminal/live-table.ts";
import { countOf, duration, safe, shortDuration } from "../../terminal/text.ts";
import { fittedLine } from "./grid.ts";
import { percent } from "./participant-rows.ts";
import { sparkline } from "./sparkline.ts";
import type { TopView } from "./view.ts";

/** The room and what happens in it now. */
export function titleLine({ state, link, hubUrl, code, columns, colors }: TopView): string {
  const requests = [...state.running.values()];
  const queued = requests.filter(({ kind }) => kind === "queued").length;
  const name = state.room === undefined ? code : `${safe(state.room.name)} (${code})`;
  return fittedLine(
    [
      { text: name, paint: colors.bold },
      linkCell(link, colors) ?? { text: `${requests.length - queued} running, ${queued} queued` },
      { text: hubUrl, paint: colors.dim },
    ],
    columns,
  );
}

/** Figures of 15 minutes, or since it began to watch, most important first, since a narrow terminal cuts the line. */
export function figuresLine({ state, nowMs, columns, colors }: TopView): string {
  const figures = roomFigures(state, nowMs);
  const { errors, sinceMs, ttftP50Ms, ttftP95Ms, warmShare } = figures;
  const minutes = Math.max(1, Math.round((nowMs - sinceMs) / 60_000));
  const cells: Cell[] = [
    { text: `${minutes} min:`, paint: colors.dim },
    { text: countOf(figures.requests, "request") },
    { text: `${errors} failed`, paint: errors > 0 ? colors.red : undefined },
  ];
  if (ttftP50Ms !== undefined && ttftP95Ms !== undefined) {
    cells.push({ text: `ttft ${shortDuration(ttftP50Ms)}, p95 ${shortDuration(ttftP95Ms)}` });
  }
  if (warmShare !== undefined) cells.push({ text: `${percent(warmShare)} from cache` });
  return fittedLine(cells, columns);
}

/** Tokens per second and time to the first token over 15 minutes, side by side. */
export function chartLine({ state, nowMs, columns, colors }: TopView): string {
  const points = series(state, nowMs);
  const rate = `${roomFigures(state, nowMs).tokensPerSecond.toFixed(1)} tokens/s`;
  const lastTtft = points.findLast(({ ttftP50Ms }) => ttftP50Ms !== undefined)?.ttftP50Ms;
  const ttft = `ttft ${lastTtft === undefined ? "-" : shortDuration(lastTtft)}`;
  const gaps = 2 * 3;
  const cells = Math.floor((columns - displayWidth(rate) - displayWidth(ttft) - gaps) / 2);
  const tokens = points.map(({ tokensPerSecond }) => tokensPerSecond);
  const waits = points.map(({ ttftP50Ms }) => ttftP50Ms);
  return fittedLine(
    [
      { text: rate },
      { text: sparkline(tokens, cells), paint: colors.cyan },
      { text: ttft },
      { text: sparkline(waits, cells), paint: colors.magenta },
    ],
    columns,
  );
}

function linkCell(link: Link, colors: TopView["colors"]): Cell | undefined {
  switch (link.kind) {
    case "opening":
      return { text: "connecting", paint: colors.yellow };
    case "broken":
      return { text: `disconnected, retry in ${duration(link.retryInMs)}`, paint: colors.red };
    case "open":
      return undefined;
  }
}
