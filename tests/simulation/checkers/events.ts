import type { SeenEvent } from "../actors/event-watcher.ts";
import type { History, ListedParticipant } from "../history.ts";

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

/** Once everything has recovered, watchers know of each participant what the hubs list of it. Contract §5. */
export function watchersKnowWhatIsListed({ watchers, listings, endingMs }: History): string[] {
  return watchers.flatMap(({ events, connections }, index) =>
    (listings[index] ?? []).flatMap((listed) => {
      const last = events.findLast(
        ({ data, atMs }) => participantIn(data)?.id === listed.id && atMs < endingMs,
      );
      // What changed between two streams is not in the next one.
      if (last === undefined || last.connection < connections - 1) return [];
      const [known, actual] = [participantIn(last.data)!, listed].map(pathOf);
      if (known === actual) return [];
      return [`watcher ${index} was last told that ${listed.id} is ${known}, and it is ${actual}`];
    }),
  );
}

/** Where nothing happens but that a hub stops, its rooms go to another one with their streams. Contract §8, "Handing over". */
export function handOversContinueStreams({ plan, watchers }: History): string[] {
  const { faults, hubs } = plan;
  const [fault, ...further] = faults;
  if (hubs.length < 2 || fault?.kind !== "stop" || further.length > 0) return [];
  const names = new Set(watchers.flatMap(({ events }) => events.map(({ bootId }) => bootId)));
  return names.size > 1 ? [`the room's events came in ${names.size} streams`] : [];
}

function participantIn(data: SeenEvent["data"]): ListedParticipant | undefined {
  return data["participant"] as ListedParticipant | undefined;
}

function pathOf({ status, connection }: ListedParticipant): string {
  const { connected, readiness, resuming } = connection;
  // That refused credentials may be tried again follows from the time alone, and is no event.
  const reached = status === "offline" ? "offline" : "there";
  return [reached, connected, readiness, resuming !== undefined].map(String).join(" ");
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
