import { isRoomhubError } from "@roomhub/client";
import { type Interactivity, interactivityOf } from "../terminal/interactivity.ts";
import { chooseModels, type ModelChoice } from "../sharing/choose-models.ts";
import { chooseRoom } from "../rooms/choose-room.ts";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { findServers } from "../sharing/find-servers.ts";
import { queryRoom } from "../rooms/query-room.ts";
import {
  addServingOptions,
  endpointArgument,
  type HubOptionValues,
  inviteOf,
  participantIdArgument,
  servingConfig,
  type ServingOptionValues,
  type RoomhubCommand,
} from "../options.ts";
import { freeId, suggestId } from "../sharing/participant-name.ts";
import { isSamePlace, type SavedToken } from "../sharing/saved-secrets.ts";
import {
  addAuthHeaderOptions,
  addPasswordOptions,
  type AuthHeaderOptionValues,
  type PasswordOptionValues,
  readAuthHeaders,
  readPassword,
} from "../secrets.ts";
import { printDone, safe, shellWord, writeJson } from "../terminal/text.ts";

interface AddOptionValues
  extends HubOptionValues, PasswordOptionValues, AuthHeaderOptionValues, ServingOptionValues {
  room?: string;
  model?: string;
  id?: string;
  nickname?: string;
}

type RemoveOptionValues = HubOptionValues & { room?: string };

/** `participant add` and `remove`: a participant without an agent, whose endpoint the hub calls and probes itself. */
export function addParticipantCommand(program: RoomhubCommand, context: CliContext): void {
  const participant = program
    .command("participant")
    .examples(
      "roomhub participant add http://192.168.1.9:11434 --room ABC234",
      "roomhub participant remove ana-llama3.2",
    );
  participant
    .command("add")
    .argument("<endpoint>", "URL of the model server, as reached from the hub", endpointArgument)
    .description("add an endpoint to a room; the hub probes it until it is removed")
    .hubOptions()
    .with(addPasswordOptions)
    .with(addAuthHeaderOptions)
    .option("--room <room>", "room code or invite URL (default: the only room found)")
    .option("--model <name>", "the model to share (default: the server's first)")
    .option(
      "--id <id>",
      "participant id, usable as a request's model (default: nickname-model)",
      participantIdArgument,
    )
    .option("--nickname <name>", "name shown to others (default: your user name)")
    .with(addServingOptions)
    .examples(
      "roomhub participant add http://192.168.1.9:11434 --room ABC234",
      'roomhub participant add https://api.example.com/v1 --model big-1 \\\n      --auth-header-env "Authorization=API_AUTH"',
    )
    .action((endpoint: string, options: AddOptionValues) =>
      addEndpoint(context, endpoint, options),
    );

  participant
    .command("remove")
    .argument("<id>", "participant id", participantIdArgument)
    .description("remove a participant that was added from this machine")
    .hubOptions()
    .option("--room <room>", "its room, if the id is in several")
    .examples("roomhub participant remove ana-llama3.2")
    .action((id: string, options: RemoveOptionValues) => removeEndpoint(context, id, options));
}

async function addEndpoint(
  context: CliContext,
  endpoint: string,
  options: AddOptionValues,
): Promise<void> {
  const interactivity: Interactivity = { ...interactivityOf(context, options), canAsk: false };
  const authHeaders = readAuthHeaders(context, options);
  const password = (await readPassword(context, options)) ?? context.env["ROOMHUB_PASSWORD"];
  const { model, capabilities } =
    options.model === undefined
      ? await firstModel(context, endpoint, authHeaders, interactivity)
      : { model: options.model };
  const serves = options.serves ?? capabilities;
  const named = { given: options.room?.trim(), hubUrl: options.namedHub };
  const invite = await chooseRoom(context, named, interactivity);
  const room = await queryRoom(context, invite, password, interactivity);
  const nickname = options.nickname ?? context.userName;
  const id = options.id ?? freeId(suggestId(nickname, model), context.hostName, room.connected);
  const config = servingConfig(options);
  const tokens = await context.savedTokens("participants");
  const joined = await context.createClient(invite.hubUrl).join(
    invite.room,
    {
      ...{ id, nickname, model, endpoint, liveness: "probe" },
      ...(room.password === undefined ? {} : { password: room.password }),
      ...(Object.keys(authHeaders).length === 0 ? {} : { authHeaders }),
      ...(Object.keys(config).length === 0 ? {} : { config }),
      ...(options.context === undefined ? {} : { context: options.context }),
      ...(serves === undefined ? {} : { capabilities: serves }),
    },
    // Adding the same participant again replaces it.
    { token: await tokens.tokenOf({ ...invite, id }) },
  );
  if (joined.participantToken !== undefined) {
    await tokens.save({ ...invite, id, token: joined.participantToken });
  }
  const { participant, warnings = [] } = joined;
  if (options.json === true) return writeJson(context.stdout, { participant, warnings });
  context.stdout.write(`${safe(id)}\n`);
  context.stderr.write(
    [
      `Added ${safe(model)} from ${safe(endpoint)} to room ${safe(invite.room)}. The hub probes it every 10 s. After a hub restart, add it again.`,
      ...warnings.map(({ message }) => `! ${safe(message)}`),
      `Remove it:  ${context.commandName} participant remove ${shellWord(id)}`,
      "",
    ].join("\n"),
  );
}

async function firstModel(
  context: CliContext,
  endpoint: string,
  headers: Record<string, string>,
  interactivity: Interactivity,
): Promise<{ model: string; capabilities?: ModelChoice["traits"]["capabilities"] }> {
  const requested = { endpoint, models: [], isAll: false, headers };
  const servers = await findServers(context, requested, interactivity);
  const [choice] = await chooseModels(context, requested, servers, interactivity);
  if (choice === undefined) throw new Error("chooseModels returned no model");
  return { model: choice.model, capabilities: choice.traits.capabilities };
}

async function removeEndpoint(
  context: CliContext,
  id: string,
  options: RemoveOptionValues,
): Promise<void> {
  const tokens = await context.savedTokens("participants");
  const known = await tokens.find(id);
  const where = options.room === undefined ? undefined : inviteOf(options.room, options);
  const matching = known.filter(
    (saved) => where === undefined || isSamePlace(saved, { ...where, id }),
  );
  const [saved, ...others] = matching;
  if (saved === undefined) throw notAddedHere(context, id);
  if (others.length > 0) throw inSeveralRooms(context, id, matching);
  const { hubUrl, room, token } = saved;
  const wasThere = await leave(context.createClient(hubUrl), room, id, token);
  await tokens.forget(saved);
  const text = wasThere ? "left" : "was no longer in";
  printDone(context, options, { success: true }, `${safe(id)} ${text} room ${safe(room)}`);
}

/** @returns false if the hub did not have it any more, for example after a restart */
async function leave(client: Client, room: string, id: string, token: string): Promise<boolean> {
  try {
    await client.leave(room, id, { token });
    return true;
  } catch (error) {
    if (!isRoomhubError(error)) throw error;
    if (error.code !== "participant_not_found" && error.code !== "room_not_found") throw error;
    return false;
  }
}

function notAddedHere({ commandName }: CliContext, id: string): CommandError {
  return new CommandError(
    `No participant ${id} was added from this machine`,
    `list participants: ${commandName} participants ROOM; remove one by its token: ${commandName} leave ROOM ${shellWord(id)} --token-env VARIABLE`,
    EXIT.notFound,
  );
}

function inSeveralRooms(
  { commandName }: CliContext,
  id: string,
  saved: readonly SavedToken[],
): CommandError {
  return new CommandError(
    `${id} was added to ${saved.length} rooms`,
    "name one room:",
    EXIT.usage,
    saved.map(
      ({ hubUrl, room }) =>
        `${commandName} participant remove ${shellWord(id)} --room ${shellWord(`${hubUrl}/rooms/${room}`)}`,
    ),
  );
}
