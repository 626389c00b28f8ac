import { type Link, type LogLevel, roomFigures, series } from "@roomhub/room-state";
import { displayWidth } from "../../terminal/display-width.ts";
import type { Cell, Column } from "../../terminal/live-table.ts";
import { clockTime, countOf, duration, safe, shortDuration } from "../../terminal/text.ts";
import { fittedLine, gridLines } from "./grid.ts";
import { PARTICIPANT_COLUMNS, participantRows, percent } from "./participant-rows.ts";
import { REQUEST_COLUMNS, requestRows } from "./request-rows.ts";
import { sparkline } from "./sparkline.ts";
import type { TopView } from "./view.ts";

/** From this height on sections are separated by empty lines, and the last line has the keys. */
const roomyRows = 20;
const leastLogLines = 2;

/**
 * One frame: as many lines as the terminal has, each at most as wide. Nothing from the network is in it but printable text.
 *
 * Requests and participants get the lines they need, up to a third and a half of the screen each while the other needs
 * lines too; the log has the rest.
 */
export function renderFrame(view: TopView): string[] {
  const head = [titleLine(view), figuresLine(view), chartLine(view)];
  const isRoomy = view.rows >= roomyRows;
  const separators = isRoomy ? [""] : [];
  const keys = isRoomy ? [keyLine(view)] : [];
  const participants = participantRows(view);
  const requests = requestRows(view);
  const headings = 2;
  const free =
    view.rows - head.length - 3 * separators.length - headings - leastLogLines - keys.length;
  const [forParticipants, forRequests] = shared(participants.length, requests.length, free);
  const logRows = view.rows - keys.length;
  const lines = [
    ...head,
    ...separators,
    ...section(view, PARTICIPANT_COLUMNS, participants, forParticipants, "no participants"),
    ...separators,
    ...section(view, REQUEST_COLUMNS, requests, forRequests, "no requests"),
    ...separators,
  ];
  const log = filled(logLines(view, logRows - lines.length), logRows - lines.length);
  return filled([...lines, ...log, ...keys], view.rows);
}

/** How many lines each section gets, one at least. */
function shared(participants: number, requests: number, free: number): [number, number] {
  const wanted = [Math.max(1, participants), Math.max(1, requests)] as const;
  const fair = Math.max(1, Math.floor(free * 0.4));
  const forParticipants = Math.min(wanted[0], Math.max(fair, free - wanted[1]));
  return [forParticipants, Math.max(1, Math.min(wanted[1], free - forParticipants))];
}

/** A table with its headings, or a sentence that there is nothing; what does not fit is counted in the last line. */
function section(
  { columns, colors }: TopView,
  tableColumns: readonly Column[],
  rows: readonly Cell[][],
  lines: number,
  nothing: string,
): string[] {
  const isWhole = rows.length <= lines;
  const shown = isWhole ? rows : rows.slice(0, Math.max(0, lines - 1));
  const grid = gridLines(tableColumns, shown, columns, colors.dim);
  if (rows.length === 0)
    return [...grid, fittedLine([{ text: nothing, paint: colors.dim }], columns)];
  if (isWhole) return grid;
  const more = { text: `… ${rows.length - shown.length} more`, paint: colors.dim };
  return [...grid, fittedLine([more], columns)];
}

/** The newest lines, the last one at the bottom. */
function logLines({ state, columns, colors }: TopView, count: number): string[] {
  const paints: Record<LogLevel, ((text: string) => string) | undefined> = {
    info: undefined,
    warning: colors.yellow,
    error: colors.red,
  };
  return state.log.slice(-Math.max(1, count)).map(({ atMs, level, text }) =>
    fittedLine(
      [
        { text: clockTime(atMs), paint: colors.dim },
        { text: safe(text), paint: paints[level] },
      ],
      columns,
    ),
  );
}

/** Exactly so many lines: a terminal too low for everything shows the beginning. */
function filled(lines: readonly string[], rows: number): string[] {
  return Array.from({ length: rows }, (_, index) => lines[index] ?? "");
}

/** The last line of a frame. */
function keyLine({ columns, colors }: TopView): string {
  const keys = ["q quit", "? what is shown", "Ctrl+L draw again"];
  return fittedLine(
    keys.map((text) => ({ text, paint: colors.dim })),
    columns,
  );
}

const explained = [
  ["15 min", "requests, failures, time to the first token (ttft, median and"],
  ["", "95th percentile), share of prompt tokens read from a cache"],
  ["charts", "tokens per second, and time to the first token, over 15 minutes"],
  ["", ""],
  ["SLOTS", "█ busy with this room, ▒ busy with other work, · free"],
  ["DONE, FAILED", "requests of the last 15 minutes"],
  ["CACHE", "share of prompt tokens read from a cache"],
  ["BUDGET", "what is left of the tokens its owner shares per day"],
  ["STATE", "ready, or why it gets no requests"],
  ["", ""],
  ["ELAPSED", "time since the request was sent"],
  ["TOKENS, TOK/S", "tokens so far, and per second since the first one"],
  ["", ""],
  ["q", "quit"],
  ["?", "back to the room"],
  ["Ctrl+L", "draw everything again"],
] as const;

/** What the sections show, in place of them. As many lines as the terminal has, each at most as wide. */
export function explanationLines({ columns, rows, colors }: TopView): string[] {
  const lines = explained.map(([name, text]) =>
    fittedLine([{ text: name.padEnd(14), paint: colors.bold }, { text }], columns),
  );
  return filled(lines, rows);
}

/** The room and what happens in it now. */
function titleLine({ state, link, hubUrl, code, columns, colors }: TopView): string {
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
function figuresLine({ state, nowMs, columns, colors }: TopView): string {
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
function chartLine({ state, nowMs, columns, colors }: TopView): string {
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
