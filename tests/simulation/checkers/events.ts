import type { SeenEvent } from "../actors/event-watcher.ts";
import type { History } from "../history.ts";

/** One order of a room's events at every hub, without gaps while a stream lasts. Contract §5. */
export function eventsInOneOrder({ watchers }: History): string[] {
  const known = new Map<string, string>();
  return watchers.flatMap(({ events }, index) => [
    ...gapsOf(events, index),
    ...events.flatMap((event) => {
      const key = `${event.bootId}-${event.number}`;
      const text = contentOf(event);
      const before = known.get(key);
      known.set(key, before ?? text);
      return before === undefined || before === text
        ? []
        : [`event ${key} is ${before} at one hub and ${text} at another`];
    }),
  ]);
}

function gapsOf(events: readonly SeenEvent[], watcher: number): string[] {
  return events.flatMap((event, index) => {
    const before = events[index - 1];
    if (before === undefined || before.connection !== event.connection) return [];
    if (before.bootId !== event.bootId) return [];
    // The greeting of a young room: what came between it and the stream's beginning is not sent again.
    if (before.type.endsWith("created")) return [];
    return event.number === before.number + 1
      ? []
      : [`watcher ${watcher} has event ${event.number} of ${event.bootId} after ${before.number}`];
  });
}

function contentOf({ type, data }: SeenEvent): string {
  const { requestId, participantId, timestamp } = data;
  return [type.replace(":", "."), timestamp, requestId, participantId].map(String).join(" ");
}
