import type { Connection, ModelEntry, ParticipantSummary } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { loadColumn } from "../terminal/load-text.ts";
import { type HubOptionValues, inviteOf, type RoomhubCommand } from "../options.ts";
import { envSecret } from "../secrets.ts";
import { contextText, featureWords, modelText } from "@roomhub/room-state";
import { formatTable, safe, writeJson } from "../terminal/text.ts";

interface LeaveOptionValues extends HubOptionValues {
  tokenEnv?: string;
}

export function addParticipantsCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("participants")
    .hubOptions()
    .roomArgument()
    .examples("roomhub participants ABC234")
    .action((room: string, options: HubOptionValues) => listParticipants(context, room, options));
}

export function addModelsCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("models")
    .hubOptions()
    .roomArgument()
    .examples("roomhub models ABC234 --json")
    .action((room: string, options: HubOptionValues) => listModels(context, room, options));
}

export function addLeaveCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("leave")
    .hubOptions()
    .roomArgument()
    .argument("<id>", "participant id")
    .option("--token-env <variable>", "the participant's token, from an environment variable")
    .examples("roomhub leave ABC234 ana-llama3.2 --token-env ANA_TOKEN")
    .action((room: string, id: string, options: LeaveOptionValues) =>
      leave(context, room, id, options),
    );
}

async function listParticipants(
  context: CliContext,
  room: string,
  options: HubOptionValues,
): Promise<void> {
  const invite = inviteOf(room, options);
  const participants = await context.createClient(invite.hubUrl).listParticipants(invite.room);
  if (options.json === true) writeJson(context.stdout, { participants });
  else if (participants.length === 0) printEmptyRoom(context, invite.hubUrl, invite.room);
  else {
    const headings = [
      ...["id", "nickname", "model", "context", "can", "status", "path", "load", "endpoint"],
    ];
    writeTable(context, headings, participants.map(participantRow));
  }
}

async function listModels(
  context: CliContext,
  room: string,
  options: HubOptionValues,
): Promise<void> {
  const invite = inviteOf(room, options);
  const models = await context.createClient(invite.hubUrl).listModels(invite.room);
  if (options.json === true) writeJson(context.stdout, { object: "list", data: models });
  else if (models.length === 0) printEmptyRoom(context, invite.hubUrl, invite.room);
  else {
    writeTable(context, ["id", "model", "context", "owner", "reachable"], models.map(modelRow));
  }
}

async function leave(
  context: CliContext,
  room: string,
  id: string,
  options: LeaveOptionValues,
): Promise<void> {
  const invite = inviteOf(room, options);
  const token = options.tokenEnv === undefined ? undefined : envSecret(context, options.tokenEnv);
  await context.createClient(invite.hubUrl).leave(invite.room, id, { token });
  if (options.json === true) writeJson(context.stdout, { success: true });
  else context.stderr.write(`${safe(id)} left room ${invite.room}\n`);
}

/** Without the columns in which no row says anything. */
function writeTable({ stdout }: CliContext, headings: readonly string[], rows: string[][]): void {
  const isShown = headings.map((_, column) => rows.some((row) => row[column] !== ""));
  const shown = (cells: readonly string[]) => cells.filter((_, column) => isShown[column]);
  stdout.write(formatTable(shown(headings), rows.map(shown), stdout.columns));
}

function participantRow(participant: ParticipantSummary): string[] {
  const { connection, load } = participant;
  return [
    safe(participant.id),
    safe(participant.nickname),
    safe(modelText(participant)),
    contextText(participant.context),
    featureWords(participant.features).join(" "),
    safe(participant.status),
    pathText(connection),
    load === undefined ? "" : loadColumn(load),
    safe(participant.endpoint),
  ];
}

function modelRow(model: ModelEntry): string[] {
  return [
    safe(model.id),
    safe(model.service.model),
    contextText(model.service.context),
    safe(model.owned_by),
    reachableText(model.service.connection),
  ];
}

/** Shows why a connected participant gets no requests: it is paused, or its model server is down. */
function pathText({ connected, path, problem, resuming }: Connection): string {
  if (!connected && resuming === undefined) return "not connected";
  return problem === undefined ? safe(path) : `${safe(path)}, ${safe(problem)}`;
}

function reachableText({ connected, problem, resuming }: Connection): string {
  if (!connected && resuming === undefined) return "no";
  return problem === undefined ? "yes" : `no: ${safe(problem)}`;
}

function printEmptyRoom(context: CliContext, hubUrl: string, room: string): void {
  const line = `${context.commandName} join ${hubUrl}/rooms/${room}`;
  context.stderr.write(`Room ${room} has no participants.\n→ ${line}\n`);
}
