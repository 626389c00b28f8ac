import type { ParticipantNotice } from "../services.ts";
import { type Colors, clockTime, duration, safe } from "../terminal/text.ts";

/** Notices that are told as they come, one line each; requests and outages have their own ways. */
export type LineNotice = Exclude<
  ParticipantNotice,
  { kind: "request-started" | "request-ended" | "stopped" | "joined" | "connected" }
>;

/** One notice as a readable line without its end. Everything in it may have come from the network. */
export function noticeLine(notice: LineNotice, nowMs: number, colors: Colors): string {
  return `${colors.dim(clockTime(nowMs))}  ${describe(notice, colors)}`;
}

function describe(notice: LineNotice, colors: Colors): string {
  switch (notice.kind) {
    case "disconnected":
      return colors.yellow(
        `disconnected: ${safe(notice.reason)}; trying until it is back, next in ${duration(notice.retryInMs)}`,
      );
    case "provider-readiness":
      return readinessLine(notice, colors);
    case "model-changed":
      return colors.green(
        `the model server now serves ${safe(notice.to)}, which is shared in place of ${safe(notice.from)}`,
      );
    case "fault": {
      const { error } = notice;
      return colors.red(`internal error: ${safe(error instanceof Error ? error.message : error)}`);
    }
  }
}

function readinessLine(
  { readiness, problem = "" }: Extract<LineNotice, { kind: "provider-readiness" }>,
  colors: Colors,
): string {
  switch (readiness) {
    case "ready":
      return colors.green("the model server is back");
    case "loading":
      return colors.yellow("the model server is loading its model; requests wait for it");
    case "needs-credentials":
      return colors.yellow(
        'the model server requires credentials; join with --header-env "Authorization=VARIABLE"',
      );
    case "down":
      return colors.yellow(`the model server is down, still asking it: ${safe(problem)}`);
    case "wrong-model":
      return colors.yellow(
        `the model server ${safe(problem)}; no requests come until it has the shared model again`,
      );
  }
}
