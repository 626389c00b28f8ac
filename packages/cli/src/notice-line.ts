import type { ParticipantNotice } from "./services.ts";
import { type Colors, clockTime, duration, safe } from "./text.ts";

/**
 * What an agent has to say, as readable lines without the last one's end, or undefined when it is nothing for people: a
 * request is one line, and that when it is over.
 */
export function noticeLine(
  notice: ParticipantNotice,
  nowMs: number,
  colors: Colors,
): string | undefined {
  const text = describe(notice, colors);
  return text === undefined ? undefined : `${colors.dim(clockTime(nowMs))} ${text}`;
}

function describe(notice: ParticipantNotice, colors: Colors): string | undefined {
  switch (notice.kind) {
    case "joined": {
      const warnings = notice.warnings.map((warning) => colors.yellow(`\n  ! ${safe(warning)}`));
      return `joined room ${safe(notice.room)} as ${safe(notice.id)}${warnings.join("")}`;
    }
    case "connected":
      return colors.green("connected; Ctrl+C leaves");
    case "disconnected":
      return colors.yellow(
        `disconnected: ${safe(notice.reason)}; trying again in ${duration(notice.retryInMs)}`,
      );
    case "provider-down":
      return colors.yellow(`the model server is down: ${safe(notice.reason)}; still asking it`);
    case "provider-up":
      return colors.green("the model server is back");
    case "request-ended":
      return requestLine(notice, colors);
    case "stopped":
      return notice.code === "closed" ? undefined : `stopped: ${safe(notice.reason)}`;
    case "fault": {
      const { error } = notice;
      return colors.red(`internal error: ${safe(error instanceof Error ? error.message : error)}`);
    }
    case "request-started":
    default:
      return undefined;
  }
}

function requestLine(
  notice: ParticipantNotice & { kind: "request-ended" },
  colors: Colors,
): string {
  const { path, model, status, durationMs, outcome, reason } = notice;
  const paint = outcome === "complete" ? colors.green : colors.yellow;
  const answer = status === undefined ? "" : ` ${status}`;
  const why = reason === undefined ? "" : `: ${safe(reason)}`;
  const end = paint(`${safe(outcome)}${answer}`);
  return `${safe(path)} ${safe(model)} ${end} in ${duration(durationMs)}${why}`;
}
