import type { ParticipantNotice } from "./services.ts";
import { type Colors, clockTime, duration, safe } from "./text.ts";

/** Notices that are told as they come, one line each; requests and outages have their own ways. */
export type SaidNotice = Exclude<
  ParticipantNotice,
  { kind: "request-started" | "request-ended" | "stopped" | "joined" | "connected" }
>;

/** One notice as a readable line without its end. Everything in it may have come from the network. */
export function noticeLine(notice: SaidNotice, nowMs: number, colors: Colors): string {
  return `${colors.dim(clockTime(nowMs))}  ${describe(notice, colors)}`;
}

function describe(notice: SaidNotice, colors: Colors): string {
  switch (notice.kind) {
    case "disconnected":
      return colors.yellow(
        `disconnected: ${safe(notice.reason)}; trying until it is back, next in ${duration(notice.retryInMs)}`,
      );
    case "provider-down":
      return colors.yellow(`the model server is down, still asking it: ${safe(notice.reason)}`);
    case "provider-up":
      return colors.green("the model server is back");
    case "fault": {
      const { error } = notice;
      return colors.red(`internal error: ${safe(error instanceof Error ? error.message : error)}`);
    }
  }
}
