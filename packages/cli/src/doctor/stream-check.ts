import { duration } from "../terminal/text.ts";
import type { Check } from "./check.ts";
import { failed, ok, skipped } from "./finding.ts";
import { watchRoom } from "./event-watch.ts";

/** A hub sends its first bytes at once; even a slow network delivers them well within this. */
const firstBytesMs = 3_000;

/** Buffering is the most common proxy problem. docs/guides/behind-a-proxy.md */
export const bufferingFix =
  "turn off response buffering in the proxy; nginx: proxy_buffering off; proxy_cache off; gzip off; or respect the hub's X-Accel-Buffering: no; Caddy: flush_interval -1";

/** Whether streams arrive unbuffered: an event stream never ends, so a buffering proxy passes nothing on. */
export const streamCheck: Check = {
  name: "stream",
  waitsFor: "the first bytes of a stream",
  timeoutMs: 2 * firstBytesMs,
  async run(exam, signal) {
    const { context, hubUrl, room } = exam;
    if (room === undefined) return skipped("needs the room");
    const limit = AbortSignal.timeout(firstBytesMs);
    const startMs = context.nowMs();
    try {
      exam.events = await watchRoom(context, hubUrl, room.code, AbortSignal.any([signal, limit]));
      return ok(`not buffered, first bytes after ${duration(context.nowMs() - startMs)}`);
    } catch (error) {
      if (signal.aborted || !limit.aborted) throw error;
      return failed(
        `no stream data arrived within ${duration(firstBytesMs)}: a proxy in between buffers responses`,
        bufferingFix,
      );
    }
  },
};
