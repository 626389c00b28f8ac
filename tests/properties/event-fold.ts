import type { RecordedEvent } from "../support/hub/event-recorder.ts";

/** What a watcher of a room's events knows of one participant. */
export interface Believed {
  status: unknown;
  connected: unknown;
  nickname: unknown;
}

/**
 * A room as its events report it. Checks that they are consistent: no unknown participant changes, and none goes
 * offline twice.
 *
 * @throws Error naming the event that makes none
 */
export function foldEvents(events: readonly RecordedEvent[]): Map<string, Believed> {
  const people = new Map<string, Believed>();
  for (const [index, { kind, data }] of events.entries()) {
    const fail = (why: string) => new Error(`event ${index}, ${kind}: ${why}`);
    if (kind === "participant.joined" || kind === "participant.updated") {
      const { id, status, connection, nickname } = data["participant"] as {
        id: string;
        status: string;
        connection: { connected: boolean };
        nickname: string;
      };
      const isKnown = people.has(id);
      if (isKnown === (kind === "participant.joined")) throw fail(`${id} is known: ${isKnown}`);
      // Only `participant.offline` takes a participant offline.
      if (status === "offline" && people.get(id)?.status !== "offline") {
        throw fail(`${id} went offline without a word`);
      }
      people.set(id, { status, connected: connection.connected, nickname });
    }
    if (kind === "participant.offline" || kind === "participant.left") {
      const id = String(data["participantId"]);
      const person = people.get(id);
      if (person === undefined) throw fail(`${id} is not here`);
      if (kind === "participant.left") people.delete(id);
      else if (person.status === "offline") throw fail(`${id} is offline already`);
      else person.status = "offline";
    }
  }
  return people;
}
