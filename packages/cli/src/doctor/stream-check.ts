import { duration } from "../terminal/text.ts";
import type { Check } from "./check.ts";
import { failed, ok, skipped } from "./finding.ts";
import { watchRoom } from "./event-watch.ts";

/** A hub's first bytes leave at once; a slow network has them here well within this. */
const firstBytesMs = 3_000;

/** The field's most common fault of a proxy. docs/guides/behind-a-proxy.md */
export const bufferingFix =
  "let it pass each piece on at once; nginx: proxy_buffering off; proxy_cache off; gzip off; or keep to the hub's X-Accel-Buffering: no; Caddy: flush_interval -1";

/** Whether streams arrive piece by piece: an event stream never ends, so whoever buffers it passes nothing on. */
export const streamCheck: Check = {
  name: "stream",
  waitsFor: "the first bytes of a stream",
  timeoutMs: 2 * firstBytesMs,
  async look(exam, signal) {
    const { context, hubUrl, room } = exam;
    if (room === undefined) return skipped("needs the room");
    const limit = AbortSignal.timeout(firstBytesMs);
    const startMs = context.nowMs();
    try {
      exam.events = await watchRoom(context, hubUrl, room.code, AbortSignal.any([signal, limit]));
      return ok(`arrives piece by piece, the first after ${duration(context.nowMs() - startMs)}`);
    } catch (error) {
      if (signal.aborted || !limit.aborted) throw error;
      return failed(
        `nothing of a stream came in ${duration(firstBytesMs)}: something in between buffers answers`,
        bufferingFix,
      );
    }
  },
};
