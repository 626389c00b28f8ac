import type { Invite } from "@roomhub/client";
import { isClientName, type JoinRequest } from "@roomhub/protocol";
import { InvalidArgumentError, Option } from "commander";
import { type Interactivity, interactivityOf } from "../terminal/interactivity.ts";
import { chooseModels } from "../sharing/choose-models.ts";
import { chooseRoom } from "../rooms/choose-room.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";
import { findServers, type RequestedModels } from "../sharing/find-servers.ts";
import { reportNewerHub } from "../rooms/hub-health.ts";
import { queryRoom } from "../rooms/query-room.ts";
import {
  addServingOptions,
  collect,
  endpointArgument,
  type HubOptionValues,
  jsonObjectArgument,
  participantIdArgument,
  servingConfig,
  type ServingOptionValues,
  type RoomhubCommand,
} from "../options.ts";
import {
  addBudgetOptions,
  budgetOf,
  type BudgetOptionValues,
  hoursArgument,
} from "../sharing/budget-options.ts";
import { freeId, suggestId } from "../sharing/participant-name.ts";
import { runParticipants } from "../sharing/run-participants.ts";
import {
  addAuthHeaderOptions,
  addHeaderOptions,
  addPasswordOptions,
  type AuthHeaderOptionValues,
  type HeaderOptionValues,
  type PasswordOptionValues,
  readAuthHeaders,
  readHeaders,
  readPassword,
} from "../secrets.ts";
import type { ParticipantOptions } from "@roomhub/participant";
import { servingText } from "../sharing/served-surfaces.ts";
import { untilStopped } from "../terminal/stop-signal.ts";
import { safe } from "../terminal/text.ts";

export interface JoinOptionValues
  extends
    HubOptionValues,
    PasswordOptionValues,
    HeaderOptionValues,
    AuthHeaderOptionValues,
    ServingOptionValues,
    BudgetOptionValues {
  model?: string[];
  allModels?: boolean;
  endpoint?: string;
  id?: string;
  nickname?: string;
  ownFirst?: boolean;
  only?: string[];
  /** false with `--no-batch` */
  batch: boolean;
  batchHours?: string;
  tunnelMask?: "auto" | "none";
  specs?: Record<string, unknown>;
  config?: Record<string, unknown>;
  yes?: boolean;
  quiet?: boolean;
  notify?: boolean;
}

export function addJoinCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("join")
    .argument("[room]", "room code, invite URL or hub URL (default: searches the network)")
    .with(addJoinOptions)
    .option("--notify", "show a desktop notification when others start to use this machine")
    .examples(
      "roomhub join",
      "roomhub join http://192.168.1.5:5050/rooms/ABC234 --all-models",
      'roomhub join ABC234 --endpoint https://api.example.com/v1 --model big-1 \\\n      --header-env "Authorization=API_AUTH"',
    )
    .action((room: string | undefined, options: JoinOptionValues) => join(context, room, options));
}

/** Adds the options of `join`, which a service that runs it has too. */
export function addJoinOptions(command: RoomhubCommand): RoomhubCommand {
  command
    .hubOptions()
    .with(addPasswordOptions)
    .quietOption()
    .option(
      "--endpoint <url>",
      "the model server (default: the first found on this machine)",
      endpointArgument,
    )
    .option(
      "--model <name>",
      "a model to share (repeatable; default: prompts, or the server's first)",
      collect,
    )
    .option("--all-models", "share every model, each as its own participant")
    .option("-y, --yes", "skip prompts and use the defaults")
    .option(
      "--id <id>",
      "participant id, usable as a request's model (default: nickname-model)",
      participantIdArgument,
    )
    .option("--nickname <name>", "name shown to others (default: your user name)");
  return command
    .with(addHeaderOptions)
    .with(addAuthHeaderOptions)
    .with(addServingOptions)
    .with(addBudgetOptions)
    .option("--own-first", "serve your own requests before those of others that wait")
    .option(
      "--only <names>",
      "in a closed room: serve the holders of these keys alone",
      namesArgument,
    )
    .option("--no-batch", "serve no requests of batches")
    .option(
      "--batch-hours <from-to>",
      "local hours to serve batches in, like 22-7 (default: all)",
      hoursArgument,
    )
    .option("--specs <json>", "machine details shown to others", jsonObjectArgument)
    .option("--config <json>", "defaults for fields a request leaves out", jsonObjectArgument)
    .addOption(
      new Option(
        "--tunnel-mask <mask>",
        "mask what goes to the hub: where a proxy may read it, or never (default: auto)",
      ).choices(["auto", "none"]),
    );
}

async function join(
  context: CliContext,
  room: string | undefined,
  options: JoinOptionValues,
): Promise<void> {
  const interactivity = interactivityOf(context, options);
  const participants = await resolveParticipants(context, room, options, interactivity);
  await untilStopped(context, (signal) =>
    runParticipants(context, participants, {
      signal,
      isJson: options.json === true,
      isQuiet: interactivity.isQuiet,
      hasKeys: context.isStdinTTY && context.stderr.isTTY && !interactivity.isQuiet,
      isNotifying: options.notify === true,
    }),
  );
}

/** Resolves what the command line leaves out before anything starts: the models, then the room. */
async function resolveParticipants(
  context: CliContext,
  given: string | undefined,
  options: JoinOptionValues,
  interactivity: Interactivity,
): Promise<ParticipantOptions[]> {
  const { headers, authHeaders } = checkJoinOptions(context, options);
  const password = (await readPassword(context, options)) ?? context.env["ROOMHUB_PASSWORD"];
  const requested: RequestedModels = {
    endpoint: options.endpoint,
    models: options.model ?? [],
    isAll: options.allModels === true,
    headers: { ...authHeaders, ...headers },
  };
  const servers = await findServers(context, requested, interactivity);
  const models = await chooseModels(context, requested, servers, interactivity);
  const named = { given: given?.trim(), hubUrl: options.namedHub };
  const invite = await chooseRoom(context, named, interactivity);
  const room = await queryRoom(context, invite, password, interactivity);
  if (options.only !== undefined && room.isOpen) throw onlyInClosed(context, invite);
  if (!interactivity.isQuiet) void reportNewerHub(context, invite);

  const say = (line: string) => {
    if (!interactivity.isQuiet) context.stderr.write(`${line}\n`);
  };
  const roomName = room.name === undefined ? "" : ` (${safe(room.name)})`;
  say(`Joining room ${safe(invite.room)}${roomName} at ${invite.hubUrl}`);
  const { nickname = context.userName, ownFirst, tunnelMask, specs } = options;
  const config = { ...options.config, ...servingConfig(options) };
  const budget = budgetOf(context, options);
  const taken = new Set(room.connected);
  const key = await context.roomKeys.of(invite);
  return models.map(({ endpoint, model, serverName, traits }) => {
    const nextId = () => {
      const free = freeId(suggestId(nickname, model), context.hostName, taken);
      taken.add(free);
      return free;
    };
    const id = options.id ?? nextId();
    const part = servingText(options.serves ?? traits.capabilities);
    say(`Sharing ${safe(model)} from ${safe(serverName ?? endpoint)} as ${safe(id)}${part}`);
    return {
      ...invite,
      id,
      nextId: options.id === undefined ? nextId : undefined,
      nickname,
      model,
      endpoint,
      ...{ password: room.password, key, context: options.context },
      ...{ ownFirst, only: options.only, batches: batchesOf(options), tunnelMask, specs },
      config: Object.keys(config).length === 0 ? undefined : config,
      headers,
      authHeaders,
      ...traits,
      ...(options.serves && { capabilities: options.serves }),
      budget,
      // With several participants, all could end up sharing the same model.
      followModel: requested.models.length === 0 && models.length === 1,
    };
  });
}

function batchesOf({ batch, batchHours: hours }: JoinOptionValues): JoinRequest["batches"] {
  if (!batch) return false;
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return hours === undefined ? undefined : { hours, timeZone };
}

function onlyInClosed({ commandName }: CliContext, { room }: Invite): UsageError {
  return new UsageError(
    `Room ${safe(room)} is open, where names are claims: close it (${commandName} room close ${safe(room)}), or leave out --only`,
  );
}

/** @throws InvalidArgumentError */
function namesArgument(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.every(isClientName)) return names;
  throw new InvalidArgumentError("Use names of keys with commas between them, like ada,bob.");
}

/** Checks the options as far as that is possible before anything starts. @throws UsageError */
export function checkJoinOptions(
  context: CliContext,
  options: JoinOptionValues,
): { headers: Record<string, string>; authHeaders: Record<string, string> } {
  const { id, model = [], allModels = false } = options;
  if (allModels && model.length > 0) {
    throw new UsageError("--all-models and --model cannot be combined");
  }
  if (id !== undefined && (allModels || model.length > 1)) {
    throw new UsageError("--id names one participant and cannot be combined with several models");
  }
  return {
    headers: readHeaders(context, options),
    authHeaders: readAuthHeaders(context, options),
  };
}
