import { isLiveAndReady, type ParticipantSummary } from "@roomhub/protocol";
import {
  participantFigures,
  type ParticipantSummaryFigures,
  type Slots,
  slotsOf,
} from "@roomhub/room-state";
import type { Cell, Column } from "../../terminal/live-table.ts";
import { type Colors, countOf, safe } from "../../terminal/text.ts";
import { slotBar } from "./sparkline.ts";
import type { TopView } from "./view.ts";

export const PARTICIPANT_COLUMNS: readonly Column[] = [
  { heading: "PARTICIPANT", width: 0, isElastic: true },
  { heading: "SLOTS", width: 12 },
  { heading: "MODEL", width: 0, isElastic: true, leftOut: 6 },
  { heading: "DONE", width: 4, isNumber: true, leftOut: 4 },
  { heading: "FAILED", width: 6, isNumber: true, leftOut: 3 },
  { heading: "CACHE", width: 5, isNumber: true, leftOut: 2 },
  { heading: "BUDGET", width: 6, isNumber: true, isOptional: true, leftOut: 1 },
  { heading: "STATE", width: 0 },
];

/** A row per participant; participants that can serve requests come first. */
export function participantRows({ state, nowMs, colors }: TopView): Cell[][] {
  const slots = slotsOf(state);
  const figures = participantFigures(state, nowMs);
  const sorted = [...state.participants.values()].sort(
    (one, other) => Number(isLiveAndReady(other)) - Number(isLiveAndReady(one)),
  );
  return sorted.map((participant) =>
    row(participant, slots.get(participant.id), figures.get(participant.id), colors),
  );
}

function row(
  participant: ParticipantSummary,
  slots: Slots = { active: 0, limit: 1, elsewhere: 0, waiting: 0 },
  figures: ParticipantSummaryFigures | undefined,
  colors: Colors,
): Cell[] {
  const { requests = 0, errors = 0, warmShare } = figures ?? {};
  const isIdle = !isLiveAndReady(participant);
  return [
    { text: safe(participant.id), paint: isIdle ? colors.dim : undefined },
    { text: `${slotBar(slots)} ${slots.active}/${slots.limit}`, paint: colors.cyan },
    { text: safe(participant.model), paint: isIdle ? colors.dim : undefined },
    { text: String(requests - errors) },
    { text: String(errors), paint: errors > 0 ? colors.red : undefined },
    { text: warmShare === undefined ? "-" : percent(warmShare) },
    { text: budgetText(participant) },
    stateCell(participant, colors),
  ];
}

function stateCell({ status, connection, standIn }: ParticipantSummary, colors: Colors): Cell {
  if (status === "offline") return { text: "offline", paint: colors.dim };
  if (connection.resuming !== undefined) {
    const text = `connection lost, ${countOf(connection.resuming.streams, "stream")} waiting`;
    return { text, paint: colors.yellow };
  }
  if (!connection.connected) return { text: "not connected", paint: colors.yellow };
  if (connection.problem !== undefined) {
    return { text: safe(connection.problem), paint: colors.yellow };
  }
  const { readiness } = connection;
  const text = readiness === "ready" && standIn === true ? "stand-in" : readiness;
  return { text: safe(text), paint: readiness === "ready" ? colors.green : colors.yellow };
}

/** What is left of the day's tokens. */
function budgetText({ budget }: ParticipantSummary): string {
  const { tokensPerDay, remainingTokens } = budget ?? {};
  if (tokensPerDay === undefined || tokensPerDay <= 0 || remainingTokens === undefined) return "-";
  return percent(remainingTokens / tokensPerDay);
}

export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}
