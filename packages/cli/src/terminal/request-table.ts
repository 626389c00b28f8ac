import { clientText, type HubEvent, type Metrics } from "@roomhub/protocol";
import type { Terminal } from "../context.ts";
import { type Cell, type Column, createLiveTable } from "./live-table.ts";
import type { ParticipantNotice } from "@roomhub/participant";
import { clockTime, type Colors, countOf, duration, safe, shortDuration } from "./text.ts";

const time: Column = { heading: "TIME", width: 8 };
const participant: Column = { heading: "PARTICIPANT", width: 16, isElastic: true };
const client: Column = {
  heading: "CLIENT",
  width: 8,
  isElastic: true,
  isOptional: true,
  leftOut: 4,
};
const model: Column = { heading: "MODEL", width: 12, isElastic: true, leftOut: 5 };
const outcome: Column = { heading: "OUTCOME", width: "ok 2.4 s, 80 tokens".length };
/** `120 ms`, `59.9 s`, `12m05s` */
const durationWidth = 6;
const queue: Column = { heading: "QUEUE", width: durationWidth, isNumber: true, leftOut: 1 };
const ttft: Column = { heading: "TTFT", width: durationWidth, isNumber: true, leftOut: 2 };
const speed: Column = { heading: "TOK/S", width: 5, isNumber: true, leftOut: 3 };
const tokens: Column = { heading: "TOKENS", width: 6, isNumber: true, leftOut: 1 };
const took: Column = { heading: "TOOK", width: durationWidth, isNumber: true, leftOut: 4 };

/** Rows for finished requests of a room, as measured by its hub. */
export function createRoomTable(terminal: Terminal, colors: Colors) {
  const row = createLiveTable(terminal, colors, [
    time,
    client,
    participant,
    model,
    queue,
    ttft,
    speed,
    outcome,
  ]);
  return (event: HubEvent & { type: "llm.complete" | "llm.error" }): string => {
    const metrics = event.type === "llm.complete" ? event.metrics : undefined;
    return row([
      { text: clockTime(Date.parse(event.timestamp)), paint: colors.dim },
      { text: safe(clientText(event.client) ?? "-") },
      { text: safe(event.participantId ?? "-") },
      { text: safe(event.model ?? "-") },
      { text: event.queueMs > 0 ? shortDuration(event.queueMs) : "-" },
      ...speedCells(metrics),
      event.type === "llm.complete" ? success(event, colors) : failure(event, colors),
    ]);
  };
}

/**
 * Rows for finished requests of a participant, as measured by it.
 *
 * @param hasNames - adds a participant column
 */
export function createServedTable(terminal: Terminal, colors: Colors, hasNames: boolean) {
  const names = hasNames ? [participant] : [];
  const row = createLiveTable(terminal, colors, [
    time,
    client,
    ...names,
    model,
    ttft,
    speed,
    tokens,
    took,
    { ...outcome, width: "cancelled 200".length },
  ]);
  return (
    id: string,
    notice: ParticipantNotice & { kind: "request-ended" },
    nowMs: number,
  ): string => {
    return row([
      { text: clockTime(nowMs), paint: colors.dim },
      { text: safe(clientText(notice.client) ?? "-") },
      ...(hasNames ? [{ text: safe(id) }] : []),
      { text: safe(notice.model) },
      ...speedCells(notice),
      { text: notice.outputTokens?.toString() ?? "-" },
      { text: shortDuration(notice.durationMs) },
      endOf(notice, colors),
    ]);
  };
}

/** Leaves out tenths from 1,000 tokens per second on, so that the column keeps its width. */
function rateText(tokensPerSecond: number): string {
  return tokensPerSecond.toFixed(tokensPerSecond < 999.95 ? 1 : 0);
}

/** The cells of TTFT and TOK/S. */
function speedCells({ ttftMs, tokensPerSecond }: Partial<Metrics> = {}): Cell[] {
  return [
    { text: ttftMs === undefined ? "-" : shortDuration(ttftMs) },
    { text: tokensPerSecond === undefined ? "-" : rateText(tokensPerSecond) },
  ];
}

/** The path is last because it is nearly always the same, and a narrow terminal truncates it. */
function endOf(
  { path, status, outcome: ended, reason }: ParticipantNotice & { kind: "request-ended" },
  colors: Colors,
): Cell {
  const isDone = ended === "complete";
  // The 200 of a truncated response would suggest success.
  const shownStatus =
    status !== undefined && (ended === "complete" || status >= 400) ? ` ${status}` : "";
  const why = reason === undefined ? "" : `: ${safe(reason)}`;
  return {
    text: `${isDone ? "ok" : ended}${shownStatus}${why} (${safe(path.replace(/^\//, ""))})`,
    paint: isDone ? colors.green : ended === "failed" ? colors.red : colors.yellow,
  };
}

function success({ metrics }: HubEvent & { type: "llm.complete" }, colors: Colors): Cell {
  const { durationMs, outputTokens } = metrics;
  const count = outputTokens === undefined ? "" : `, ${countOf(outputTokens, "token")}`;
  return { text: `ok ${duration(durationMs)}${count}`, paint: colors.green };
}

/** A client's cancel is shown as a warning, since nothing failed. */
function failure(
  { code, error, participantId }: HubEvent & { type: "llm.error" },
  colors: Colors,
): Cell {
  const isCancelled = code === "client_disconnected";
  // The row already names the participant, and space is scarce.
  const who = `${participantId ?? ""}: `;
  const why = error.startsWith(who) ? error.slice(who.length) : error;
  return {
    text: isCancelled ? "cancelled by the client" : `${safe(code)}: ${safe(why)}`,
    paint: isCancelled ? colors.yellow : colors.red,
  };
}
