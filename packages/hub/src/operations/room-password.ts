import { attemptKey } from "../credentials/attempts.ts";
import { tryPassword } from "../credentials/password-check.ts";
import type { Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { OperationContext, Peer } from "./context.ts";

/**
 * Lets in whoever knows the room's password. Missing and wrong are one answer. Contract §6.
 *
 * @throws HubError `invalid_password`, or `too_many_attempts` after five wrong ones
 */
export async function checkRoomPassword(
  context: OperationContext,
  room: Room,
  password: string | undefined,
  peer: Peer,
): Promise<void> {
  const verifier = context.roomPasswords.get(room.code);
  if (verifier === undefined) return;
  const outcome = await tryPassword({
    verifier,
    attempts: context.passwordAttempts,
    key: attemptKey(room.code, peer.throttleKey),
    password,
    nowMs: context.nowMs,
  });
  switch (outcome.kind) {
    case "right":
      return;
    case "throttled":
      throw new HubError("too_many_attempts", `Too many wrong passwords for room ${room.code}.`, {
        hint: "Ask the room's host for it, and try again in a moment.",
        retryAfterMs: outcome.retryAfterMs,
      });
    case "wrong":
      throw new HubError(
        "invalid_password",
        `The password for room ${room.code} is missing or wrong.`,
        {
          param: "password",
          hint: `Ask the room's host, then: ROOMHUB_PASSWORD=… roomhub join ${room.code}`,
        },
      );
  }
}
