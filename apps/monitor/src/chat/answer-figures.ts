import type { RoomState } from "@roomhub/room-state";
import { durationText, rateText } from "../parts/figure-text.ts";
import type { Answer } from "./chat-state.ts";

/**
 * Who responded, time to the first token and tokens per second, as the hub measured them: other than times of this page,
 * they are the same for everyone who watches.
 */
export function answerFigures(
  { requestId, from }: Answer,
  { participants, running, recent }: RoomState,
): string {
  const parts: string[] = [];
  if (from !== undefined) {
    const { nickname = from.participantId } = participants.get(from.participantId) ?? {};
    parts.push(`${nickname}: ${from.model}`);
  }
  if (requestId !== undefined) {
    const ended = recent.findLast((request) => request.requestId === requestId);
    const request = running.get(requestId);
    if (ended?.kind === "done") parts.push(...timesOf(ended.metrics));
    else if (request?.kind === "streaming") parts.push(...timesOf(request));
  }
  return parts.join(", ");
}

function timesOf(times: { ttftMs: number; tokensPerSecond?: number | undefined }): string[] {
  const first = `first token ${durationText(times.ttftMs)}`;
  const { tokensPerSecond: rate } = times;
  return rate === undefined ? [first] : [first, `${rateText(rate)} tokens/s`];
}
