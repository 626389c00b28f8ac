import { createParser, type EventSourceMessage } from "eventsource-parser";

/**
 * One server-sent event. `name` must come from a closed union and `data` must be JSON on one line, so that neither can
 * start another field.
 *
 * @param id - without one, the reader's last id stays the one before
 */
export function encodeSseEvent(id: string | undefined, name: string, data: string): string {
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  return `${idLine}event: ${name}\ndata: ${data}\n\n`;
}

export function encodeSseComment(text: string): string {
  return `: ${text}\n\n`;
}

export function encodeSseRetry(retryMs: number): string {
  return `retry: ${retryMs}\n\n`;
}

const eventStream = /^text\/event-stream\b/i;

/** @param headers - of a response, lower-case names */
export function isEventStream(headers: Readonly<Record<string, string>>): boolean {
  return eventStream.test(headers["content-type"] ?? "");
}

export type SseMessage = EventSourceMessage;

/** Takes decoded text in chunks of any size and emits whole events. */
export interface SseReader {
  feed(text: string): void;
}

/** @param onRetry - called with the server's `retry` in ms */
export function createSseReader(
  onMessage: (message: SseMessage) => void,
  onRetry?: (retryMs: number) => void,
): SseReader {
  return createParser({ onEvent: onMessage, onRetry });
}
