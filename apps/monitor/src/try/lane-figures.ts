import type { RoomState } from "@roomhub/room-state";
import { durationText, rateText } from "../parts/figure-text.ts";
import type { Lane } from "./arena.ts";

/**
 * Time to the first token and tokens per second of a lane, as the hub measured them: other than times of this page, they are
 * the same for everyone who watches.
 */
export function laneFigures({ requestId }: Readonly<Lane>, { running, recent }: RoomState): string {
  if (requestId === undefined) return "";
  const ended = recent.findLast((request) => request.requestId === requestId);
  if (ended?.kind === "done") {
    const { ttftMs, tokensPerSecond } = ended.metrics;
    return textOf(ttftMs, tokensPerSecond);
  }
  const request = running.get(requestId);
  return request?.kind === "streaming" ? textOf(request.ttftMs, request.tokensPerSecond) : "";
}

function textOf(ttftMs: number, tokensPerSecond: number | undefined): string {
  const first = `first token ${durationText(ttftMs)}`;
  return tokensPerSecond === undefined ? first : `${first}, ${rateText(tokensPerSecond)} tokens/s`;
}
