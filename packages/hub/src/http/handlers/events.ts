import type { EventSpelling } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { EventBus } from "../../events/bus.ts";
import type { OperationContext } from "../../operations/context.ts";
import { useRoom } from "../../operations/rooms.ts";
import type { EventStreams } from "../event-stream.ts";

export interface EventsDeps {
  operations: OperationContext;
  streams: EventStreams;
  bus: EventBus;
}

/** A stream opened this soon after its room's creation begins with `room.created`. Contract §5. */
const freshRoomMs = 5_000;

/** `GET …/events`, of a room or of the whole hub. Interface §6. */
export function serveEvents(
  request: IncomingMessage,
  response: ServerResponse,
  input: { code: string | undefined; spelling: EventSpelling },
  { operations, streams, bus }: EventsDeps,
): void {
  if (input.code === undefined) {
    streams.open(response, undefined, input.spelling, () => undefined);
    return;
  }
  const room = useRoom(operations, input.code);
  // The wall clock may have been set back, and a hub that was restarted would give the event's id to another one.
  const ageMs = operations.wallMs() - room.createdAt;
  const isFresh = ageMs >= 0 && ageMs <= freshRoomMs && bus.hasCreated(room.code);
  const mayReplay = isFresh && request.headers["last-event-id"] === undefined;
  streams.open(response, room.code, input.spelling, (subscriber) => {
    if (!mayReplay) return;
    bus.replay(subscriber, room.code, "room.created", new Date(room.createdAt).toISOString(), {
      room,
    });
  });
}
