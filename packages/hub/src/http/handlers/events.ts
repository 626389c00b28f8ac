import type { EventSpelling } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { EventBus } from "../../events/bus.ts";
import type { OperationContext } from "../../operations/context.ts";
import { useRoom } from "../../operations/rooms.ts";
import { isNewRoom } from "../../operations/watch-room.ts";
import type { EventStreams } from "../event-stream.ts";

export interface EventsDeps {
  operations: OperationContext;
  streams: EventStreams;
  bus: EventBus;
}

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
  const isFirstVisit = request.headers["last-event-id"] === undefined;
  const mayReplay = isFirstVisit && isNewRoom(operations, bus, room);
  streams.open(response, room.code, input.spelling, (subscriber) => {
    if (!mayReplay) return;
    bus.replay(subscriber, room.code, "room.created", new Date(room.createdAt).toISOString(), {
      room,
    });
  });
}
