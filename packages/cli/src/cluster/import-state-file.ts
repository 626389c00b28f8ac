import type { ImportedRoom, StoredRoom } from "@roomhub/hub";
import type { CliContext } from "../context.ts";
import { CommandError, UsageError } from "../exit-code.ts";
import { resolveHubConfig } from "../hosting/hub-config.ts";
import type { HubFlagValues } from "../hosting/hub-settings.ts";
import { countOf, formatTable, reasonOf, safe, writeJson } from "../terminal/text.ts";
import { directoryOf } from "./cluster-directory.ts";

export interface ImportOptionValues extends HubFlagValues {
  json?: boolean;
}

/**
 * Puts the rooms of a state file into the cluster, and prints what became of each.
 *
 * @throws UsageError without `--nats`
 * @throws CommandError when the file cannot be used, NATS is lost, or a room was refused
 */
export async function importStateFile(
  context: CliContext,
  path: string,
  options: ImportOptionValues,
): Promise<void> {
  const { settings } = await resolveHubConfig(context, options);
  if (settings.nats.value === undefined)
    throw new UsageError("room import needs --nats URL: where the cluster keeps its rooms");
  const rooms = await roomsOf(context, path);
  const use = { name: "roomhub room import", storage: "file" } as const;
  const directory = await directoryOf(context, settings, use);
  const done: ImportedRoom[] = [];
  let failure: unknown;
  try {
    // Rooms are imported one by one, so changes by others need not be watched.
    await directory.open(undefined);
    for await (const room of context.importRooms(directory, rooms)) done.push(room);
  } catch (error) {
    failure = error;
  } finally {
    await directory.close();
  }
  if (failure === undefined || done.length > 0) print(context, done, options.json === true);
  if (failure !== undefined) throw explainFailure(failure, done, rooms);
  checkRefused(done, path);
}

async function roomsOf(context: CliContext, path: string): Promise<StoredRoom[]> {
  try {
    return await context.readStateFile(path);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT")
      throw new CommandError(
        `There is no file ${path}`,
        "a hub prints the path of its state file when it starts",
      );
    if (error instanceof Error && error.name === "StateFileLockedError") {
      throw new CommandError(
        `The state file ${path} is in use by process ${String((error as { pid?: unknown }).pid)}`,
        "stop that hub first: a hub alone changes its file while it runs",
      );
    }
    throw new CommandError(`No room was imported: ${path} cannot be used: ${reasonOf(error)}`);
  }
}

function print(context: CliContext, rooms: readonly ImportedRoom[], isJson: boolean): void {
  if (isJson) return writeJson(context.stdout, { rooms });
  const rows = rooms.map(({ code, name, result, reason }) => [
    safe(code),
    safe(name),
    reason === undefined ? words[result] : `${words[result]}: ${safe(reason)}`,
  ]);
  if (rows.length > 0) context.stdout.write(formatTable(["code", "name", "in the cluster"], rows));
  context.stderr.write(`${summary(rooms)}\n`);
}

const words: Record<ImportedRoom["result"], string> = {
  imported: "new",
  unchanged: "was there",
  refused: "refused",
};

function summary(rooms: readonly ImportedRoom[]): string {
  if (rooms.length === 0) return "The file has no rooms";
  const count = (result: ImportedRoom["result"]) =>
    rooms.filter((room) => room.result === result).length;
  const counts = [
    `${count("imported")} imported`,
    `${count("unchanged")} already there`,
    `${count("refused")} refused`,
  ];
  return `${countOf(rooms.length, "room")}: ${counts.join(", ")}`;
}

function explainFailure(
  error: unknown,
  done: readonly ImportedRoom[],
  rooms: readonly StoredRoom[],
): unknown {
  if (!(error instanceof Error) || error.name !== "DirectoryUnavailable") return error;
  const reason = error.message.replace(/\.$/, "");
  const next = rooms[done.length];
  if (done.length === 0 || next === undefined)
    return new CommandError(`No room was imported: ${reason}`, "start NATS, or check --nats");
  return new CommandError(
    `The import ended at room ${next.code}, after ${done.length} of ${rooms.length}: ${reason}`,
    "run the command again: it goes on with those that are missing",
  );
}

/** @throws CommandError */
function checkRefused(done: readonly ImportedRoom[], path: string): void {
  const refused = done.filter(({ result }) => result === "refused");
  if (refused.length === 0) return;
  throw new CommandError(
    `${countOf(refused.length, "room")} of ${path} ${refused.length === 1 ? "was" : "were"} refused`,
    "the reasons are in the list; rooms of the cluster stay as they are",
  );
}
