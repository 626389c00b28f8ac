import { HubUnreachableError, type Invite, RoomhubError } from "@roomhub/client";
import type { Interactivity } from "../terminal/interactivity.ts";
import { explainUnknownRoom, unreachableHub } from "./choose-room.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { connectedIds } from "../sharing/participant-name.ts";
import { waitingFor } from "../terminal/progress.ts";

/** What is to be known of a room before somebody joins it. */
export interface RoomFacts {
  /** undefined when the hub could not be asked */
  name: string | undefined;
  password: string | undefined;
  /** ids that somebody is connected under */
  connected: ReadonlySet<string>;
}

/**
 * Asks the hub about the room before anything starts, so that a mistyped code or URL ends the command instead of being
 * retried for ever. Behind a corporate proxy only the agent gets through, so there it is left to the agent.
 *
 * @param password - undefined when none was given; then it is asked for where the room has one and somebody can answer
 * @throws CommandError with the next step
 */
export async function queryRoom(
  context: CliContext,
  invite: Invite,
  password: string | undefined,
  interactivity: Interactivity,
): Promise<RoomFacts> {
  const client = context.createClient(invite.hubUrl);
  const what = `Waiting for the hub at ${invite.hubUrl}`;
  try {
    const room = await waitingFor(context, what, client.getRoom(invite.room), interactivity);
    const isMissing = room.passwordProtected && password === undefined;
    return {
      name: room.name,
      password: isMissing ? await askPassword(context, invite.room, interactivity) : password,
      connected: connectedIds(await client.listParticipants(invite.room)),
    };
  } catch (error) {
    if (error instanceof RoomhubError && error.code === "room_not_found") {
      throw await explainUnknownRoom(context, invite, error);
    }
    if (!(error instanceof HubUnreachableError)) throw error;
    if (!hasProxy(context.env)) throw unreachableHub(context, error);
    return { name: undefined, password, connected: new Set() };
  }
}

async function askPassword(
  context: CliContext,
  room: string,
  interactivity: Interactivity,
): Promise<string> {
  if (interactivity.canAsk) return context.prompts.askSecret(`Password of room ${room}`);
  throw new CommandError(
    `Room ${room} has a password`,
    "give it in ROOMHUB_PASSWORD, or with --password-env VARIABLE or --password-file PATH",
    EXIT.refused,
  );
}

function hasProxy(env: CliContext["env"]): boolean {
  return ["http_proxy", "https_proxy"].some(
    (name) => (env[name] ?? env[name.toUpperCase()] ?? "") !== "",
  );
}
