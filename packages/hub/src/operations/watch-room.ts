import type { Room } from "@roomhub/protocol";
import type { EventListener } from "../events/audience.ts";
import type { EventBus } from "../events/bus.ts";
import type { OperationContext } from "./context.ts";
import { useRoom } from "./rooms.ts";

/** A watcher that comes this soon after the creation of a room still gets its `room.created`. Contract §5. */
const newRoomMs = 5_000;

/**
 * The events of a room for a program around the hub, as values: no socket, no encoding.
 *
 * @returns how to stop
 * @throws HubError `room_not_found`
 */
export function watchRoom(
  context: OperationContext,
  bus: EventBus,
  code: string,
  listener: EventListener,
): () => void {
  const room = useRoom(context, code);
  if (isNewRoom(context, bus, room)) {
    const timestamp = new Date(room.createdAt).toISOString();
    listener([{ type: "room.created", timestamp, roomCode: room.code, room }]);
  }
  return bus.listen(room.code, listener);
}

/** The wall clock may have been set back, and a hub that was restarted would give the event's id to another one. */
export function isNewRoom(context: OperationContext, bus: EventBus, room: Room): boolean {
  const ageMs = context.wallMs() - room.createdAt;
  return ageMs >= 0 && ageMs <= newRoomMs && bus.hasCreated(room.code);
}
