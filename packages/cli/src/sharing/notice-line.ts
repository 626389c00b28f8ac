import type { ParticipantNotice } from "@roomhub/participant";
import { clockTime, type Colors, duration, reasonOf, safe } from "../terminal/text.ts";

/** Notices printed as one line each; requests and connections are handled separately. */
export type LineNotice = Exclude<
  ParticipantNotice,
  {
    kind:
      | "request-started"
      | "request-ended"
      | "stopped"
      | "joined"
      | "connected"
      | "interrupted"
      | "resumed";
  }
>;

/** One notice as a line without its line break. Everything in it may come from the network. */
export function noticeLine(notice: LineNotice, nowMs: number, colors: Colors): string {
  return `${colors.dim(clockTime(nowMs))}  ${describe(notice, colors)}`;
}

function describe(notice: LineNotice, colors: Colors): string {
  switch (notice.kind) {
    case "disconnected":
      return colors.yellow(
        `disconnected: ${safe(notice.reason)}; reconnecting, next attempt in ${duration(notice.retryInMs)}`,
      );
    case "provider-readiness":
      return readinessLine(notice, colors);
    case "budget":
      return notice.problem === undefined
        ? colors.green("within the budget again: requests are served")
        : colors.yellow(`no requests are served: the participant ${safe(notice.problem)}`);
    case "model-changed":
      return colors.green(
        `the model server now serves ${safe(notice.to)}; sharing it instead of ${safe(notice.from)}`,
      );
    case "fault": {
      const { error } = notice;
      return colors.red(`internal error: ${safe(reasonOf(error))}`);
    }
  }
}

function readinessLine(
  { readiness, problem = "" }: Extract<LineNotice, { kind: "provider-readiness" }>,
  colors: Colors,
): string {
  switch (readiness) {
    case "ready":
      return colors.green("the model server is ready again");
    case "loading":
      return colors.yellow("the model server is loading its model; requests wait");
    case "needs-credentials":
      return colors.yellow(
        'the model server requires credentials; join with --header-env "Authorization=VARIABLE"',
      );
    case "down":
      return colors.yellow(`the model server is down: ${safe(problem)}; retrying`);
    case "wrong-model":
      return colors.yellow(
        `the model server ${safe(problem)}; no requests arrive until it serves the shared model again`,
      );
  }
}

/**
 * One outage as seen by several participants: it begins when the first is affected and ends when the last has recovered.
 *
 * @typeParam Key - what tells participants apart
 */
export function trackOutage<Key>() {
  const affected = new Set<Key>();
  let sinceMs = 0;
  return {
    /** @returns whether this participant is the first affected */
    began(participant: Key, nowMs: number): boolean {
      const isFirst = affected.size === 0;
      if (isFirst) sinceMs = nowMs;
      affected.add(participant);
      return isFirst;
    },
    /** @returns the outage's length in ms when the last participant has recovered; undefined otherwise */
    ended(participant: Key, nowMs: number): number | undefined {
      return affected.delete(participant) && affected.size === 0 ? nowMs - sinceMs : undefined;
    },
  };
}
