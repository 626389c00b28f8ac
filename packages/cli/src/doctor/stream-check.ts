import { errorFromResponse, HubUnreachableError } from "@roomhub/client";
import { createSseReader, timeoutSignal } from "@roomhub/protocol";
import { duration } from "../terminal/text.ts";
import { type Check, failed, ok, skipped, RequestLog } from "./check.ts";
import type { CliContext } from "../context.ts";

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
    const limit = timeoutSignal(context.world, firstBytesMs);
    const startMs = context.world.wallMs();
    try {
      exam.events = await watchRoom(context, hubUrl, room.code, AbortSignal.any([signal, limit]));
      return ok(`not buffered, first bytes after ${duration(context.world.wallMs() - startMs)}`);
    } catch (error) {
      if (signal.aborted || !limit.aborted) throw error;
      return failed(
        `no stream data arrived within ${duration(firstBytesMs)}: a proxy in between buffers responses`,
        bufferingFix,
      );
    }
  },
};

/**
 * Opens a room's event stream and waits for its first bytes, which a hub sends at once.
 *
 * @throws RoomhubError, HubUnreachableError, the signal's reason
 */
async function watchRoom(
  { fetch }: CliContext,
  hubUrl: string,
  code: string,
  signal: AbortSignal,
): Promise<RequestLog> {
  const closing = new AbortController();
  const giveUp = () => closing.abort(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const response = await fetch(`${hubUrl}/v1/rooms/${code}/events`, {
      headers: { accept: "text/event-stream" },
      signal: closing.signal,
    });
    if (!response.ok) throw errorFromResponse(response, await response.text());
    const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
    const first = await reader.read();
    const seen = new RequestLog(() => closing.abort());
    // Rejects when the watch is closed; the events seen until then stay.
    void pump(reader, first, seen).catch(() => {});
    return seen;
  } catch (error) {
    signal.throwIfAborted();
    closing.abort();
    throw error instanceof TypeError ? new HubUnreachableError(hubUrl, error) : error;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  first: Awaited<ReturnType<typeof reader.read>>,
  seen: RequestLog,
): Promise<void> {
  const decoder = new TextDecoder();
  const sse = createSseReader(({ data }) => seen.take(data));
  for (let part = first; !part.done; part = await reader.read()) {
    sse.feed(decoder.decode(part.value, { stream: true }));
  }
}
