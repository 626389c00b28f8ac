import type { Invite } from "@roomhub/client";
import type { Connection, ModelEntry, ParticipantSummary } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { loadColumn } from "../terminal/load-text.ts";
import { type HubOptionValues, inviteOf, type RoomhubCommand } from "../options.ts";
import { envSecret } from "../secrets.ts";
import { servedWords } from "../sharing/served-surfaces.ts";
import { contextText, featureWords, modelText } from "@roomhub/room-state";
import { formatTable, printDone, safe, withoutEmpty, writeJson } from "../terminal/text.ts";

export function addParticipantsCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("participants")
    .hubOptions()
    .roomArgument()
    .examples("roomhub participants ABC234")
    .action(async (named: string, options: HubOptionValues) => {
      const { hubUrl, room } = inviteOf(named, options);
      const participants = await context.createClient(hubUrl).listParticipants(room);
      if (options.json === true) return writeJson(context.stdout, { participants });
      const headings = ["id", "nickname", "model", "context", "can", "status", "path", "load"];
      const rows = participants.map(participantRow);
      printTable(context, { hubUrl, room }, [...headings, "endpoint"], rows);
    });
}

export function addModelsCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("models")
    .hubOptions()
    .roomArgument()
    .examples("roomhub models ABC234 --json")
    .action(async (named: string, options: HubOptionValues) => {
      const { hubUrl, room } = inviteOf(named, options);
      const models = await context.createClient(hubUrl).listModels(room);
      if (options.json === true) return writeJson(context.stdout, { object: "list", data: models });
      const headings = ["id", "model", "context", "owner", "reachable"];
      printTable(context, { hubUrl, room }, headings, models.map(modelRow));
    });
}

export function addLeaveCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("leave")
    .hubOptions()
    .roomArgument()
    .argument("<id>", "participant id")
    .option("--token-env <variable>", "the participant's token, from an environment variable")
    .examples("roomhub leave ABC234 ana-llama3.2 --token-env ANA_TOKEN")
    .action(async (named: string, id: string, options: HubOptionValues & { tokenEnv?: string }) => {
      const { hubUrl, room } = inviteOf(named, options);
      const { tokenEnv } = options;
      const token = tokenEnv === undefined ? undefined : envSecret(context, tokenEnv);
      await context.createClient(hubUrl).leave(room, id, { token });
      printDone(context, options, { success: true }, `${safe(id)} left room ${room}`);
    });
}

function printTable(
  { stdout, stderr, commandName }: CliContext,
  { hubUrl, room }: Invite,
  headings: readonly string[],
  rows: string[][],
): void {
  if (rows.length > 0) stdout.write(formatTable(...withoutEmpty(headings, rows), stdout.columns));
  else {
    const line = `${commandName} join ${hubUrl}/rooms/${room}`;
    stderr.write(`Room ${room} has no participants.\n→ ${line}\n`);
  }
}

function participantRow(participant: ParticipantSummary): string[] {
  const { connection, load } = participant;
  return [
    safe(participant.id),
    safe(participant.nickname),
    safe(modelText(participant)),
    contextText(participant.context),
    abilityText(participant),
    safe(participant.status),
    pathText(connection),
    load === undefined ? "" : loadColumn(load),
    safe(participant.endpoint),
  ];
}

/** The features of a chat model; of any other one, what it is for. */
function abilityText({ capabilities, features }: ParticipantSummary): string {
  const hasNoChat = capabilities.chatCompletions === "unsupported";
  return (hasNoChat ? servedWords(capabilities) : featureWords(features)).join(" ");
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
