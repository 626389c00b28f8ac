import type { ParticipantPoint, SeriesPoint } from "@roomhub/room-state";
import type { PlotData } from "./plot-geometry.ts";

/** Time to the first token, seconds: median and 95th percentile. */
export function ttftLines(points: readonly SeriesPoint[]): PlotData {
  return {
    timesMs: timesOf(points),
    lines: [
      points.map(({ requests, ttftP50Ms }) => scaled(requests, ttftP50Ms, 1e-3)),
      points.map(({ requests, ttftP95Ms }) => scaled(requests, ttftP95Ms, 1e-3)),
    ],
  };
}

export function tokenLines(points: readonly SeriesPoint[]): PlotData {
  const tokens = points.map(({ tokensPerSecond }) => tokensPerSecond);
  return { timesMs: timesOf(points), lines: [tokens] };
}

/** Requests that ended in each bucket, and the failed ones among them. */
export function requestLines(points: readonly SeriesPoint[]): PlotData {
  return {
    timesMs: timesOf(points),
    lines: [points.map(({ requests }) => requests), points.map(({ errors }) => errors)],
  };
}

/** What a plot with a line per participant shows. */
export type ParticipantFigure = "requests" | "errors" | "warm";

/** @param all - the points of each participant, at the same times; one line per participant. The warm share is in % */
export function participantLines(
  all: readonly (readonly ParticipantPoint[])[],
  figure: ParticipantFigure,
): PlotData {
  return {
    timesMs: timesOf(all[0] ?? []),
    lines: all.map((points) =>
      points.map(({ requests, errors, warmShare }) => {
        if (figure === "requests") return requests;
        if (figure === "errors") return errors;
        return scaled(requests, warmShare, 100);
      }),
    ),
  };
}

function timesOf(points: readonly { startMs: number }[]): number[] {
  return points.map(({ startMs }) => startMs);
}

/** @param requests - undefined when nothing is known of that time */
function scaled(requests: number | undefined, value: number | undefined, factor: number) {
  if (value !== undefined) return value * factor;
  return requests === undefined ? undefined : null;
}
