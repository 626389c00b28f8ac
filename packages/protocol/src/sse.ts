import { createParser, type EventSourceMessage } from "eventsource-parser";

/**
 * One server-sent event. The only encoder of event streams: `name` comes from a closed union, `data` is JSON and
 * therefore one line, so nothing inside it can begin another field.
 */
export function encodeSseEvent(id: string, name: string, data: string): string {
  return `id: ${id}\nevent: ${name}\ndata: ${data}\n\n`;
}

export function encodeSseComment(text: string): string {
  return `: ${text}\n\n`;
}

export function encodeSseRetry(retryMs: number): string {
  return `retry: ${retryMs}\n\n`;
}

export type SseMessage = EventSourceMessage;

/** Feeds decoded text in any cut and hands out whole events. */
export interface SseReader {
  feed(text: string): void;
}

/** @param onRetry - ms the server asks a reconnecting client to wait */
export function createSseReader(
  onMessage: (message: SseMessage) => void,
  onRetry?: (retryMs: number) => void,
): SseReader {
  return createParser({ onEvent: onMessage, ...(onRetry === undefined ? {} : { onRetry }) });
}
