import type { Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { OperationContext, Peer } from "./context.ts";

/**
 * Lets in a peer that knows the room's password. A missing one and a wrong one get the same error. Contract §6.
 *
 * @throws HubError `invalid_password`, or `too_many_attempts` once the address, or the room, has had too many wrong ones
 */
export async function checkRoomPassword(
  context: OperationContext,
  room: Room,
  password: string | undefined,
  peer: Peer,
): Promise<void> {
  const roomPassword = context.roomPasswords.get(room.code);
  if (roomPassword === undefined) return;
  const result = await context.passwordGate.check({
    roomCode: room.code,
    roomPassword,
    caller: peer.throttleKey,
    password,
    hasLeft: peer.hasLeft,
  });
  switch (result.kind) {
    case "right":
      return;
    case "throttled":
      throw new HubError("too_many_attempts", throttledMessage(room.code, result.by), {
        hint: "Ask the room's host for it, and try again in a moment.",
        retryAfterMs: result.retryAfterMs,
      });
    case "wrong":
      throw new HubError(
        "invalid_password",
        `The join password for room ${room.code} is missing or wrong.`,
        {
          param: "password",
          hint: `Ask the room's host, then: ROOMHUB_PASSWORD=… roomhub join ${room.code}`,
        },
      );
    case "left":
      throw new HubError(
        "client_disconnected",
        "The client disconnected before its password was checked.",
      );
  }
}

function throttledMessage(code: string, by: "caller" | "room" | "hub"): string {
  switch (by) {
    case "caller":
      return `Too many wrong join passwords for room ${code}.`;
    case "room":
      return `Too many wrong join passwords for room ${code}, from all addresses together.`;
    case "hub":
      return `The join password for room ${code} was not checked: too many others wait for theirs.`;
  }
}
