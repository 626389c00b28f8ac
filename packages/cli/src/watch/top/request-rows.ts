import { clientText } from "@roomhub/protocol";
import type { RunningRequest } from "@roomhub/room-state";
import type { Cell, Column } from "../../terminal/live-table.ts";
import { type Colors, safe, shortDuration } from "../../terminal/text.ts";
import type { TopView } from "./view.ts";

export const REQUEST_COLUMNS: readonly Column[] = [
  { heading: "CLIENT", width: 0, isElastic: true },
  { heading: "PARTICIPANT", width: 0, isElastic: true, leftOut: 5 },
  { heading: "MODEL", width: 0, isElastic: true, leftOut: 2 },
  { heading: "ELAPSED", width: 7, isNumber: true },
  { heading: "TOKENS", width: 6, isNumber: true, leftOut: 4 },
  { heading: "TOK/S", width: 5, isNumber: true, leftOut: 3 },
  { heading: "STATE", width: 0 },
];

/** A row per request: running requests, the oldest first, then queued requests by their places. */
export function requestRows({ state, nowMs, colors }: TopView): Cell[][] {
  const all = [...state.running.values()];
  const sent = all.filter((request) => request.kind !== "queued");
  const queued = all
    .filter((request) => request.kind === "queued")
    .sort((one, other) => one.place - other.place);
  return [...sent, ...queued].map((request) => row(request, nowMs, colors));
}

function row(request: RunningRequest, nowMs: number, colors: Colors): Cell[] {
  const { participantId, model } =
    request.kind === "queued" ? { participantId: "-", model: request.selector } : request;
  const streaming = request.kind === "streaming" ? request : undefined;
  return [
    { text: safe(clientText(request.client) ?? "-") },
    { text: safe(participantId) },
    { text: safe(model) },
    { text: shortDuration(Math.max(0, nowMs - request.startedMs)) },
    { text: String(streaming?.outputTokens ?? "-") },
    { text: streaming?.tokensPerSecond?.toFixed(1) ?? "-" },
    stateCell(request, colors),
  ];
}

function stateCell(request: RunningRequest, colors: Colors): Cell {
  const batch = request.priority === undefined ? "" : ", batch";
  const attempt = request.attempt > 1 ? `${batch}, attempt ${request.attempt}` : batch;
  switch (request.kind) {
    case "queued":
      return { text: `queued, place ${request.place}${attempt}`, paint: colors.yellow };
    case "waiting":
      return { text: `waiting${attempt}`, paint: colors.dim };
    case "streaming":
      return { text: `streaming${attempt}`, paint: colors.green };
  }
}
