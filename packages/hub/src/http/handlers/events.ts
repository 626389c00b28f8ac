import type { EventSpelling } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { EventBus } from "../../events/bus.ts";
import type { Access, OperationContext } from "../../operations/context.ts";
import { getRoom, useRoom, isNewRoom } from "../../operations/rooms.ts";
import type { EventStreams } from "../event-stream.ts";
import { queryOf } from "../router.ts";

interface EventsDeps {
  operations: OperationContext;
  streams: EventStreams;
  bus: EventBus;
  /** undefined for requests of clients; set for requests of other hubs */
  piped: object | undefined;
}

/** `GET …/events`, of a room or of the whole hub, with `?detail=1` also of requests on their way. Interface §6, contract §5. */
export function serveEvents(
  request: IncomingMessage,
  response: ServerResponse,
  input: { code: string | undefined; access: Access | undefined; spelling: EventSpelling },
  { operations, streams, bus, piped }: EventsDeps,
): void {
  const { code, access, spelling } = input;
  if (request.method === "HEAD") {
    if (code !== undefined) getRoom(operations, code);
    const headers = { "content-type": "text/event-stream", "cache-control": "no-store" };
    response.writeHead(200, headers).end();
    return;
  }
  const isDetailed = queryOf(request.url ?? "").get("detail") === "1";
  if (code === undefined) {
    const isForHub = piped !== undefined;
    streams.open(response, { roomCode: code, spelling, isDetailed, isForHub }, () => undefined);
    return;
  }
  const room = useRoom(operations, code);
  const isFirstVisit = request.headers["last-event-id"] === undefined;
  const mayReplay = isFirstVisit && isNewRoom(operations, bus, room);
  streams.open(response, { roomCode: room.code, access, spelling, isDetailed }, (subscriber) => {
    if (!mayReplay) return;
    bus.replay(subscriber, room.code, "room.created", new Date(room.createdAt).toISOString(), {
      room,
    });
  });
}
