import { errorFromResponse, HubUnreachableError } from "@roomhub/client";
import { createSseReader, type HubEvent } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";

/** The events of a room, from the stream's first bytes on. */
export interface EventWatch {
  /** The end of a request, past or still to come; undefined when the signal aborts first. */
  endOf(requestId: string, signal: AbortSignal): Promise<RequestEnd | undefined>;
  /**
   * The latest start of a request that has not ended yet; undefined when there is none.
   *
   * @param selector - the request's `model` field
   */
  runningFor(selector: string): RequestStart | undefined;
  close(): void;
}

export type RequestStart = Extract<HubEvent, { type: "llm.request" }>;

export type RequestEnd = Extract<HubEvent, { type: "llm.complete" | "llm.error" }>;

/**
 * Opens a room's event stream and waits for its first bytes, which a hub sends at once.
 *
 * @throws RoomhubError, HubUnreachableError, the signal's reason
 */
export async function watchRoom(
  { fetch }: CliContext,
  hubUrl: string,
  code: string,
  signal: AbortSignal,
): Promise<EventWatch> {
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
    const seen = new RequestLog();
    // Rejects when the watch is closed; the events seen until then stay.
    void pump(reader, first, seen).catch(() => {});
    return {
      endOf: (id, within) => seen.wait(id, within),
      runningFor: (selector) => seen.runningFor(selector),
      close: () => closing.abort(),
    };
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

/** Starts and ends of requests, kept for later checks. */
class RequestLog {
  readonly #starts: RequestStart[] = [];
  readonly #ends: RequestEnd[] = [];
  #look: () => void = () => {};

  take(data: string): void {
    const event = JSON.parse(data) as HubEvent;
    if (event.type === "llm.request") this.#starts.push(event);
    if (event.type !== "llm.complete" && event.type !== "llm.error") return;
    this.#ends.push(event);
    this.#look();
  }

  runningFor(selector: string): RequestStart | undefined {
    return this.#starts.findLast(
      (start) =>
        start.selector === selector &&
        !this.#ends.some(({ requestId }) => requestId === start.requestId),
    );
  }

  wait(requestId: string, signal: AbortSignal): Promise<RequestEnd | undefined> {
    return new Promise((resolve) => {
      const look = () => {
        const end = this.#ends.find((event) => event.requestId === requestId);
        if (end !== undefined) resolve(end);
      };
      signal.addEventListener("abort", () => resolve(undefined), { once: true });
      this.#look = look;
      look();
    });
  }
}
