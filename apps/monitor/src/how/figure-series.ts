import type { ParticipantPoint, SeriesPoint } from "@roomhub/room-state";

/** The lines of one plot, by time. */
export interface PlotData {
  /** epoch seconds */
  times: number[];
  /** one list per line; null where nothing was measured */
  lines: (number | null)[][];
}

/** Time to the first token, seconds: median and 95th percentile. */
export function ttftLines(points: readonly SeriesPoint[]): PlotData {
  return {
    times: timesOf(points),
    lines: [
      points.map(({ ttftP50Ms }) => secondsOf(ttftP50Ms)),
      points.map(({ ttftP95Ms }) => secondsOf(ttftP95Ms)),
    ],
  };
}

export function tokenLines(points: readonly SeriesPoint[]): PlotData {
  const tokens = points.map(({ tokensPerSecond }) => tokensPerSecond);
  return { times: timesOf(points), lines: [tokens] };
}

/** Requests that ended in each bucket, and the failed ones among them. */
export function requestLines(points: readonly SeriesPoint[]): PlotData {
  return {
    times: timesOf(points),
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
    times: timesOf(all[0] ?? []),
    lines: all.map((points) =>
      points.map(({ requests, errors, warmShare }) => {
        if (figure === "requests") return requests;
        if (figure === "errors") return errors;
        return warmShare === undefined ? null : warmShare * 100;
      }),
    ),
  };
}

function timesOf(points: readonly { startMs: number }[]): number[] {
  return points.map(({ startMs }) => startMs / 1_000);
}

function secondsOf(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1_000;
}
