import type { ParticipantNotice } from "./services.ts";
import { type Colors, clockTime, duration, safe } from "./text.ts";

/** What an agent has to say, as readable lines without the last one's end. */
export function noticeLine(notice: ParticipantNotice, nowMs: number, colors: Colors): string {
  return `${colors.dim(clockTime(nowMs))} ${describe(notice, colors)}`;
}

function describe(notice: ParticipantNotice, colors: Colors): string {
  switch (notice.kind) {
    case "joined":
      return ["joined", ...(notice.warnings ?? []).map(({ message }) => `! ${safe(message)}`)].join(
        "\n",
      );
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
    case "request-started":
    case "request-ended":
      return `${notice.kind} ${Object.entries(notice)
        .filter(([name]) => name !== "kind")
        .map(([name, value]) => `${name}=${safe(value)}`)
        .join(" ")}`;
    case "stopped":
      return `stopped: ${safe(notice.reason)}`;
    default:
      return safe((notice satisfies never as ParticipantNotice).kind);
  }
}
