import type { Invite } from "@roomhub/client";
import { pause, withTls, type World } from "@roomhub/protocol";
import { examples } from "../command-list.ts";
import type { CliContext } from "../context.ts";
import { doorKey, doorUrl } from "../door/door-access.ts";
import type { Door, DoorRequest } from "../door/door.ts";
import { requestRow } from "../door/request-line.ts";
import { CommandError, EXIT, explained } from "../exit-code.ts";
import { keepHeapSmall } from "../heap-growth.ts";
import { type HubOptionValues, portArgument, type RoomhubCommand } from "../options.ts";
import { locateRoom } from "../rooms/locate.ts";
import { createRowFeed, type RowFeed } from "../terminal/row-feed.ts";
import { aborted, untilStopped } from "../terminal/stop-signal.ts";
import {
  clockTime,
  type Colors,
  colorsFor,
  countOf,
  reasonOf,
  safe,
  writeJson,
} from "../terminal/text.ts";
import { openBatchRoom } from "./batch-room.ts";
import type { RoomAccess } from "./run/send-request.ts";
import type { BatchFolder } from "./serve/batch-jobs.ts";
import type { BatchRecord } from "./serve/batch-record.ts";
import { whenThere } from "./when-there.ts";

interface BatchServeOptionValues extends HubOptionValues {
  room?: string;
  dir: string;
  port: number;
}

const usualPort = 5_052;
/** What runs at the door may end within this time, as requests of batches may. */
const graceMs = 10_000;

export function addBatchServeCommand(batch: RoomhubCommand, context: CliContext): void {
  batch
    .command("serve")
    .hubOptions()
    .description("serve OpenAI's Files and Batches API for a room, on this machine")
    .option("--room <room>", "room code, invite URL or hub URL (default: the hub's only room)")
    .requiredOption("--dir <folder>", "where files and batches are kept; made when it is missing")
    .option("--port <number>", "port to listen on", portArgument, usualPort)
    .addHelpText(
      "after",
      `
A base URL for chat and batches: what is no file and no batch is passed to the
room. Files and batches are in the folder; after a restart batches continue.
Only programs of this machine that know the API key can use it.
${examples("roomhub batch serve --room ABC234 --dir ~/batches")}`,
    )
    .action((options: BatchServeOptionValues) => batchServe(context, options));
}

/** Runs until stopped. */
async function batchServe(context: CliContext, options: BatchServeOptionValues): Promise<void> {
  keepHeapSmall();
  const { room: target, namedHub, dir, json: isJson = false } = options;
  const command = (url: string) => `batch serve --dir ${dir} --room ${url}`;
  const locate = () => locateRoom(context, target, options, command);
  const isNamed = (target ?? namedHub) !== undefined;
  const room = await (isNamed
    ? untilStopped(context, (signal) => whenThere(context, { signal, untilMs: undefined }, locate))
    : locate());
  const batchRoom = await openBatchRoom(context, room);
  const { openBatchFolder } = await import("./serve/batch-jobs.ts");
  const report = new Report(context, isJson);
  try {
    await untilStopped(context, async (signal) => {
      const folder = await openBatchFolder(dir, {
        ...{ world: context.world, room: batchRoom.room },
        onStatus: (record) => report.status(record),
        onObstacle: ({ id }, problem) => report.problem(`${id} waits: ${problem}`),
      }).catch((error: unknown) => {
        throw folderProblem(error);
      });
      try {
        await serveUntil(signal, context, {
          ...{ options, access: batchRoom.access, folder, report },
        });
      } finally {
        await folder.close();
      }
    });
  } finally {
    report.close();
    batchRoom.close();
  }
}

interface Serving {
  options: BatchServeOptionValues;
  access: RoomAccess;
  folder: BatchFolder;
  report: Report;
}

async function serveUntil(
  signal: AbortSignal,
  context: CliContext,
  { options, access, folder, report }: Serving,
): Promise<void> {
  const { hubUrl, room, pin, key: hubKey } = access;
  const at = { hubUrl: pin === undefined ? hubUrl : withTls(hubUrl), room };
  const key = await doorKey(context, at, false);
  const { createBatchApi } = await import("./serve/batch-api.ts");
  const opening = context.openDoor({
    ...{ room: at, pin, key, hubKey, port: options.port, origins: [], world: context.world },
    openedBy: "roomhub batch serve",
    keyHint: "set OPENAI_API_KEY to it",
    onRequest: (request) => report.request(request),
    serveHere: createBatchApi({
      ...folder,
      onFailure: (error) => report.problem(reasonOf(error)),
    }),
  });
  const next = "choose another one: --port 0 takes a free one";
  const door = await explained(`Port ${options.port} cannot be opened`, next, opening);
  try {
    print(context, options, { room: at, key, port: door.port });
    folder.jobs.start();
    await aborted(signal);
    await Promise.all([drained(door, context.world), folder.jobs.stop()]);
  } finally {
    await door.close();
  }
}

async function drained(door: Door, world: World): Promise<void> {
  const grace = new AbortController();
  void door.drain().then(() => grace.abort());
  await pause(world, graceMs, grace.signal);
}

function print(
  { stdout, stderr }: CliContext,
  { dir, json = false }: BatchServeOptionValues,
  { room, key, port }: { room: Invite; key: string; port: number },
): void {
  const baseUrl = doorUrl(port);
  if (json) return writeJson(stdout, { baseUrl, apiKey: key, ...room, port, dir });
  stderr.write(`Batches of room ${room.room} of ${room.hubUrl}, kept in ${safe(dir)}\n`);
  stderr.write("Ctrl+C stops them; the same command continues\n\n");
  stdout.write(`OPENAI_BASE_URL=${baseUrl}\nOPENAI_API_KEY=${key}\n`);
  stderr.write("\n");
}

function folderProblem(error: unknown): unknown {
  // Not by class: its module is loaded with the command.
  if (!(error instanceof Error) || error.name !== "FolderInUseError") return error;
  return new CommandError(error.message, "use that process, or another --dir", EXIT.usage);
}

/** What happens, a line each. */
class Report {
  readonly #context: CliContext;
  readonly #isJson: boolean;
  readonly #rows: RowFeed;
  readonly #colors: Colors;

  constructor(context: CliContext, isJson: boolean) {
    this.#context = context;
    this.#isJson = isJson;
    this.#rows = createRowFeed(context, context.stderr);
    this.#colors = colorsFor(context, context.stderr);
  }

  request(request: DoorRequest): void {
    const { stdout, world } = this.#context;
    if (this.#isJson) return writeJson(stdout, { request });
    this.#rows.row(requestRow(request, world.wallMs(), this.#colors));
  }

  status({ id, status, counts, errors }: BatchRecord): void {
    const problems = errors.length === 0 ? {} : { errors };
    if (this.#isJson) {
      return writeJson(this.#context.stdout, { batch: { id, status, ...counts, ...problems } });
    }
    const { total, completed, failed } = counts;
    const parts = [
      `${id}  ${status.replace("_", " ")}`,
      ...(total === 0 ? [] : [`${completed} of ${countOf(total, "request")}`]),
      ...(failed === 0 ? [] : [`${failed} failed`]),
      ...errors.slice(0, 1).map(({ message }) => safe(message)),
    ];
    this.#line(parts.join(", "));
  }

  problem(text: string): void {
    if (this.#isJson) return writeJson(this.#context.stdout, { problem: text });
    this.#line(`${this.#colors.yellow("!")} ${safe(text)}`);
  }

  close(): void {
    this.#rows.close();
  }

  #line(text: string): void {
    this.#rows.line(`${this.#colors.dim(clockTime(this.#context.world.wallMs()))}  ${text}`);
  }
}
