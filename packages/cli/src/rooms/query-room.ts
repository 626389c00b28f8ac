import { HubUnreachableError, type Invite, isRoomhubError, RoomhubError } from "@roomhub/client";
import { type Interactivity, waitingFor } from "../terminal/interactivity.ts";
import { explainUnknownRoom, unreachableHub } from "./choose-room.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { connectedIds } from "../sharing/participant-name.ts";

/**
 * Queries the room before anything starts, so that a mistyped code or URL ends the command instead of being retried
 * forever. Behind a corporate proxy only the agent gets through, so the check is left to it.
 *
 * @param password - undefined when none was given; prompted for when the room has one and a terminal is attached
 * @returns what `join` needs to know; `name` is undefined when the hub cannot be queried, `connected` are ids
 * @throws CommandError with the next step
 */
export async function queryRoom(
  context: CliContext,
  invite: Invite,
  password: string | undefined,
  interactivity: Interactivity,
) {
  const client = context.createClient(invite.hubUrl);
  // Either lets a participant into a closed room.
  if (password !== undefined) context.roomKeys.stopAsking();
  const what = `Waiting for the hub at ${invite.hubUrl}`;
  try {
    const room = await waitingFor(context, what, client.getRoom(invite.room), interactivity);
    const isMissing = room.passwordProtected && password === undefined;
    return {
      name: room.name,
      isOpen: room.closed !== true,
      password: isMissing ? await askPassword(context, invite.room, interactivity) : password,
      connected: connectedIds(await client.listParticipants(invite.room)),
    };
  } catch (error) {
    if (error instanceof RoomhubError && error.code === "room_not_found") {
      throw await explainUnknownRoom(context, invite, error);
    }
    const facts = { name: undefined, password, connected: new Set<string>(), isOpen: false };
    if (password !== undefined && isRoomhubError(error, "invalid_api_key")) return facts;
    if (!(error instanceof HubUnreachableError)) throw error;
    if (!hasProxy(context.env)) throw unreachableHub(context, error);
    return facts;
  }
}

async function askPassword(
  context: CliContext,
  room: string,
  interactivity: Interactivity,
): Promise<string> {
  if (interactivity.canAsk)
    return context.prompts.askSecret(`Join password of room ${room} (needed to share, not to use)`);
  throw new CommandError(
    `Room ${room} requires a join password`,
    "set ROOMHUB_PASSWORD, or pass --password-env VARIABLE or --password-file PATH",
    EXIT.refused,
  );
}

function hasProxy(env: CliContext["env"]): boolean {
  return ["http_proxy", "https_proxy"].some(
    (name) => (env[name] ?? env[name.toUpperCase()] ?? "") !== "",
  );
}
