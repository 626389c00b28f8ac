import type { HubEvent } from "@roomhub/protocol";
import type { Terminal } from "./context.ts";
import { type Cell, type Column, createLiveTable } from "./live-table.ts";
import type { ParticipantNotice } from "./services.ts";
import { clockTime, type Colors, duration, safe, shortDuration } from "./text.ts";

const time: Column = { heading: "TIME", width: 8 };
const participant: Column = { heading: "PARTICIPANT", width: 16, isElastic: true };
const model: Column = { heading: "MODEL", width: 12, isElastic: true };
const outcome: Column = { heading: "OUTCOME", width: 0 };
/** `120 ms`, `59.9 s`, `12m05s` */
const durationWidth = 6;

/** A request of a room as its hub saw it, when it is over: who, what, how fast, how it ended. */
export function createRoomTable(terminal: Terminal, colors: Colors) {
  const row = createLiveTable(terminal, colors, [
    time,
    participant,
    model,
    { heading: "QUEUE", width: durationWidth, isNumber: true },
    { heading: "TTFT", width: durationWidth, isNumber: true },
    { heading: "TOK/S", width: 5, isNumber: true },
    outcome,
  ]);
  return (event: HubEvent & { type: "llm.complete" | "llm.error" }): string => {
    const metrics = event.type === "llm.complete" ? event.metrics : undefined;
    return row([
      { text: clockTime(Date.parse(event.timestamp)), paint: colors.dim },
      { text: safe(event.participantId ?? "-") },
      { text: safe(event.model ?? "-") },
      { text: event.queueMs > 0 ? shortDuration(event.queueMs) : "-" },
      { text: metrics === undefined ? "-" : shortDuration(metrics.ttftMs) },
      { text: metrics?.tokensPerSecond?.toFixed(1) ?? "-" },
      event.type === "llm.complete" ? success(event, colors) : failure(event, colors),
    ]);
  };
}

/**
 * A request as its participant saw it.
 *
 * @param hasNames - tells participants apart, where there are several
 */
export function createServedTable(terminal: Terminal, colors: Colors, hasNames: boolean) {
  const names = hasNames ? [participant] : [];
  const row = createLiveTable(terminal, colors, [
    time,
    ...names,
    model,
    { heading: "REQUEST", width: 16, isElastic: true },
    { heading: "TOOK", width: durationWidth, isNumber: true },
    outcome,
  ]);
  return (
    id: string,
    notice: ParticipantNotice & { kind: "request-ended" },
    nowMs: number,
  ): string => {
    const { path, model, status, durationMs, reason } = notice;
    const isDone = notice.outcome === "complete" && (status ?? 0) < 400;
    const how = notice.outcome === "complete" ? (isDone ? "ok" : "answered") : notice.outcome;
    const answer = status === undefined ? "" : ` ${status}`;
    const why = reason === undefined ? "" : `: ${safe(reason)}`;
    return row([
      { text: clockTime(nowMs), paint: colors.dim },
      ...(hasNames ? [{ text: safe(id) }] : []),
      { text: safe(model) },
      { text: safe(path.replace(/^\//, "")) },
      { text: shortDuration(durationMs) },
      {
        text: `${how}${answer}${why}`,
        paint: isDone ? colors.green : colors.yellow,
      },
    ]);
  };
}

function success({ metrics }: HubEvent & { type: "llm.complete" }, colors: Colors): Cell {
  const { durationMs, outputTokens } = metrics;
  const tokens = outputTokens === undefined ? "" : `, ${outputTokens} tokens`;
  return { text: `ok ${duration(durationMs)}${tokens}`, paint: colors.green };
}

/** Whoever leaves made no mistake, and nobody else did. */
function failure({ code, error }: HubEvent & { type: "llm.error" }, colors: Colors): Cell {
  const isGone = code === "client_disconnected";
  return {
    text: isGone ? "cancelled by the client" : `${safe(code)}: ${safe(error)}`,
    paint: isGone ? colors.yellow : colors.red,
  };
}
