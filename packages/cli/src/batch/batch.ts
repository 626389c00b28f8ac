import type { Invite } from "@roomhub/client";
import type { Timer } from "@roomhub/protocol";
import { InvalidArgumentError } from "commander";
import { BatchError } from "./run/batch-error.ts";
import type { BatchInput } from "./run/batch-input.ts";
import type { Batch, BatchPaths } from "./run/open-batch.ts";
import { grouped, ProgressText, shares } from "./progress-text.ts";
import type { BatchEnd, BatchProgress } from "./run/run-batch.ts";
import { openBatchRoom } from "./batch-room.ts";
import { addBatchServeCommand } from "./batch-serve.ts";
import { type Patience, whenThere } from "./when-there.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { type HubOptionValues, positiveArgument, type RoomhubCommand } from "../options.ts";
import { keepHeapSmall } from "../heap-growth.ts";
import { locateRoom } from "../rooms/locate.ts";
import { cutTo } from "../terminal/display-width.ts";
import { canErase, waitingFor } from "../terminal/interactivity.ts";
import { untilStopped } from "../terminal/stop-signal.ts";
import { clockTime, countOf, duration, safe, writeJson } from "../terminal/text.ts";
import { examples } from "../command-list.ts";

interface BatchOptionValues extends HubOptionValues {
  room?: string;
  output?: string;
  errors?: string;
  concurrency: number | "auto";
  until?: ReturnType<typeof clockTimeArgument>;
  maxAttempts: number;
  dryRun?: boolean;
}

const usualAttempts = 5;
const redrawMs = 500;
/** Between two lines in a pipe. */
const lineMs = 60_000;

export function addBatchCommand(program: RoomhubCommand, context: CliContext): void {
  const command = program
    .command("batch")
    .argument("<file>", "requests in OpenAI's batch format, one JSON object a line");
  addBatchServeCommand(command, context);
  // Options that both have are read here first.
  command.hook("preSubcommand", (_batch, serve) => {
    for (const name of serve.options.map((option) => option.attributeName())) {
      if (command.getOptionValueSource(name) !== "cli") continue;
      serve.setOptionValueWithSource(name, command.getOptionValue(name), "cli");
    }
  });
  command
    .hubOptions()
    .option("--room <room>", "room code, invite URL or hub URL (default: the hub's only room)")
    .option("--output <file>", "results (default: the input's name with .output.jsonl)")
    .option("--errors <file>", "requests that failed (default: with .errors.jsonl)")
    .option(
      "--concurrency <number>",
      "requests at once, or auto: what the room takes",
      concurrencyArgument,
      "auto",
    )
    .option("--until <time>", "stop at this local time, such as 07:00", clockTimeArgument)
    .option(
      "--max-attempts <number>",
      "how often to send a request that is lost while it runs",
      positiveArgument,
      usualAttempts,
    )
    .option("--dry-run", "check the file and the room, send nothing")
    .addHelpText(
      "after",
      `
Others come first: a request starts only in a slot that no one else wants now.
What is stopped or killed continues with the same command.
${examples("roomhub batch evals.jsonl --room ABC234", "roomhub batch evals.jsonl --room ABC234 --until 07:00")}`,
    )
    .action((file: string, options: BatchOptionValues) => batch(context, file, options));
}

async function batch(context: CliContext, file: string, options: BatchOptionValues): Promise<void> {
  keepHeapSmall();
  const { room, namedHub, json = false } = options;
  const locate = () => locateRoom(context, room, options, (url) => `batch ${file} --room ${url}`);
  const untilMs = options.until && nextMs(options.until, context.world.wallMs());
  await untilStopped(context, (signal) =>
    withOwnErrors(async () => {
      if (options.dryRun === true) return dryRun(context, file, await locate(), json, signal);
      const isNamed = (room ?? namedHub) !== undefined;
      const invite = await (isNamed ? whenThere(context, { signal, untilMs }, locate) : locate());
      return send(context, { ...options, paths: pathsOf(file, options), invite, signal, untilMs });
    }),
  );
}

/** What a batch could not begin with is a mistake of the command line, a disk that is full is none. */
async function withOwnErrors(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof BatchError)) throw error;
    const lines = error.problems.map(({ line, problem }) => `line ${line} ${problem}`);
    const exitCode = error.kind === "not-written" ? EXIT.failure : EXIT.usage;
    throw new CommandError(error.message, error.hint, exitCode, lines);
  }
}

async function dryRun(
  context: CliContext,
  file: string,
  invite: Invite,
  isJson: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { validInput } = await import("./run/open-batch.ts");
  const checking = validInput(file, { signal });
  const input = await waitingFor(context, `Checking ${file}`, checking, { isQuiet: isJson });
  try {
    const models = await modelsOf(context, input, invite);
    const missing = models.filter(({ isInRoom }) => !isInRoom);
    const { count: requests, url } = input;
    if (isJson) return writeJson(context.stdout, { requests, url, ...invite, models });
    const inRoom = `${models.length - missing.length} of ${countOf(models.length, "model")} in room ${invite.room}`;
    context.stdout.write(
      `${countOf(requests, "request")} to ${url}, ${inRoom}. Nothing was sent.\n`,
    );
    for (const { model } of missing) context.stdout.write(`not in the room: ${safe(model)}\n`);
  } finally {
    await input.close();
  }
}

/** A model that the requests of a file name, and what the room says about such a request now. */
interface ModelOfFile {
  model: string;
  isInRoom: boolean;
  /** why a request would be refused now; undefined when it would run or wait */
  refusal: string | undefined;
}

async function modelsOf(
  context: CliContext,
  { models, protocol }: BatchInput,
  { hubUrl, room }: Invite,
): Promise<ModelOfFile[]> {
  const client = context.createClient(hubUrl);
  const found: ModelOfFile[] = [];
  for (const model of models) {
    if (model === undefined || model === "") continue;
    const question = { model, protocol, priority: "batch" } as const;
    const { refusal } = await client.explainRoute(room, question);
    const isInRoom = refusal?.code !== "model_not_found";
    found.push({ model, isInRoom, refusal: refusal?.message });
  }
  return found;
}

type SendOptions = BatchOptionValues & Patience & { paths: BatchPaths; invite: Invite };

async function send(context: CliContext, options: SendOptions): Promise<void> {
  const { paths, signal, json = false } = options;
  const { openBatch } = await import("./run/open-batch.ts");
  const opening = openBatch(paths, { world: context.world, signal });
  const what = `Checking ${paths.input}`;
  const opened = await waitingFor(context, what, opening, { isQuiet: json });
  try {
    await sendOpened(context, opened, options);
  } finally {
    await opened.close();
  }
}

async function sendOpened(context: CliContext, opened: Batch, options: SendOptions): Promise<void> {
  const { paths, invite, signal, untilMs, json = false } = options;
  const warn = () => warnAboutModels(context, opened, invite);
  await whenThere(context, { signal, untilMs }, warn);
  const startedMs = context.world.monotonicMs();
  const { end, progress } = await run(context, opened, options);
  const tookMs = context.world.monotonicMs() - startedMs;
  if (json) {
    const { total, completed, failed } = opened.counts;
    const { output, errors } = paths;
    writeJson(context.stdout, {
      ...{ end: end.kind, total, completed, failed, output, errors },
      tookMs: Math.round(tookMs),
      outputTokens: progress?.outputTokens ?? 0,
      byParticipant: Object.fromEntries(progress?.byParticipant ?? []),
    });
  } else {
    context.stdout.write(summary(opened, progress, tookMs));
  }
  throwUnlessDone(opened, end, invite);
}

/** An empty room is waited for; in another, requests for a model that it never had would only fail. */
async function warnAboutModels(context: CliContext, opened: Batch, invite: Invite): Promise<void> {
  const models = await modelsOf(context, opened.input, invite);
  const missing = models.filter(({ model, isInRoom }) => !isInRoom && !opened.hasSeen(model));
  if (missing.length === 0) return;
  const participants = await context.createClient(invite.hubUrl).listParticipants(invite.room);
  if (participants.length === 0) return;
  const names = missing.map(({ model }) => safe(model));
  if (missing.length === models.length) {
    throw new CommandError(
      `Room ${invite.room} has no model of ${opened.paths.input}. Nothing was sent`,
      `correct the model field, or add an alias; the room's models: roomhub models ${invite.room}`,
      EXIT.notFound,
      names,
    );
  }
  context.stderr.write(
    `! Not in room ${invite.room}, so their requests fail: ${names.join(", ")}\n`,
  );
}

async function run(
  context: CliContext,
  opened: Batch,
  { invite, concurrency, maxAttempts, untilMs, signal, json = false }: SendOptions,
): Promise<{ end: BatchEnd; progress: BatchProgress | undefined }> {
  const { runBatch } = await import("./run/run-batch.ts");
  const { room, close } = await openBatchRoom(context, invite);
  const display = json ? undefined : new ProgressDisplay(context);
  let progress: BatchProgress | undefined;
  if (!json) context.stderr.write(startText(opened, invite, untilMs));
  try {
    const end = await runBatch(opened, {
      ...{ world: context.world, room, concurrency, maxAttempts, untilMs, signal },
      onProgress: (now) => {
        progress = now;
        display?.show(now);
      },
    });
    return { end, progress };
  } finally {
    display?.close();
    close();
  }
}

function startText({ paths, counts, input }: Batch, { room }: Invite, untilMs?: number): string {
  const finished = counts.completed + counts.failed;
  const before = finished === 0 ? "" : `, ${grouped(finished)} of them finished before`;
  const until = untilMs === undefined ? "" : ` until ${clockTime(untilMs)}`;
  return `${paths.input}: ${countOf(counts.total, "request")} to ${input.url} of room ${room}${before}${until}; Ctrl+C stops\n`;
}

function summary(
  { counts, paths }: Batch,
  progress: BatchProgress | undefined,
  tookMs: number,
): string {
  const { finishedInRun = 0, outputTokens = 0, byParticipant = new Map() } = progress ?? {};
  const tokens = outputTokens === 0 ? "" : `, ${grouped(outputTokens)} tokens`;
  const lines = [
    `${grouped(counts.completed)} of ${grouped(counts.total)} results in ${paths.output}`,
    ...(counts.failed > 0 ? [`${grouped(counts.failed)} failed, in ${paths.errors}`] : []),
    ...(finishedInRun > 0
      ? [`now ${grouped(finishedInRun)} in ${duration(tookMs)}${tokens}: ${shares(byParticipant)}`]
      : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** @throws CommandError with the exit code of a batch that is not done, or not without errors */
function throwUnlessDone({ counts, paths }: Batch, end: BatchEnd, { room }: Invite): void {
  const left = counts.total - counts.completed - counts.failed;
  if (end.kind === "hopeless") {
    const next = `${adviceOn(end.code, room)}, then run the same command`;
    throw new CommandError(`Stopped: ${end.reason}`, next, EXIT.refused);
  }
  if (end.kind === "stopped") {
    const what = `Stopped, ${grouped(left)} of ${grouped(counts.total)} requests left`;
    throw new CommandError(what, "to continue, run the same command", EXIT.stopped);
  }
  if (counts.failed === 0) return;
  throw new CommandError(
    `${countOf(counts.failed, "request")} failed`,
    `to send them again, delete ${paths.errors} and run the same command`,
    EXIT.someFailed,
  );
}

function adviceOn(code: string, room: string): string {
  if (code === "room_not_found") return `ask the host of room ${room} for another one`;
  if (code === "client_blocked") return "ask the host to unblock you";
  return "ask the host for a key and pass it with --key-file FILE";
}

/** One line that is drawn again and again on a terminal; in a pipe a line now and then. */
class ProgressDisplay {
  readonly #context: CliContext;
  readonly #text = new ProgressText();
  readonly #canErase: boolean;
  #timer: Timer | undefined;
  #progress: BatchProgress | undefined;
  #isShown = false;

  constructor(context: CliContext) {
    this.#context = context;
    this.#canErase = canErase(context);
  }

  show(progress: BatchProgress): void {
    this.#progress = progress;
    if (this.#timer !== undefined) return;
    const again = () => {
      this.#draw();
      this.#timer = this.#context.world.setTimeout(again, this.#canErase ? redrawMs : lineMs);
    };
    again();
  }

  close(): void {
    this.#context.world.clearTimeout(this.#timer);
    if (this.#isShown) this.#context.stderr.write("\r\u001b[K");
  }

  #draw(): void {
    const { world, stderr } = this.#context;
    if (this.#progress === undefined) return;
    const line = this.#text.line(this.#progress, world.monotonicMs(), world.wallMs());
    this.#isShown = this.#canErase;
    if (!this.#canErase) stderr.write(`${line}\n`);
    else stderr.write(`\r\u001b[K${cutTo(line, (stderr.columns ?? 80) - 1)}`);
  }
}

/** The files of a batch, beside its input where no others are named. */
function pathsOf(input: string, { output, errors }: BatchOptionValues): BatchPaths {
  const stem = input.replace(/\.jsonl$/, "");
  const results = output ?? `${stem}.output.jsonl`;
  return {
    input,
    output: results,
    errors: errors ?? `${stem}.errors.jsonl`,
    journal: `${results.replace(/\.jsonl$/, "")}.batch.json`,
  };
}

/** @throws InvalidArgumentError */
function concurrencyArgument(text: string): number | "auto" {
  return text === "auto" ? "auto" : positiveArgument(text);
}

/** @throws InvalidArgumentError */
function clockTimeArgument(text: string) {
  const [, hours, minutes] = (/^(\d{1,2}):(\d{2})$/.exec(text) ?? []).map(Number);
  if (hours === undefined || minutes === undefined || hours > 23 || minutes > 59) {
    throw new InvalidArgumentError("Must be a time of the day, such as 07:00.");
  }
  return { hours, minutes };
}

/** The next time that a local clock shows it. @param wallMs - epoch ms */
function nextMs({ hours, minutes }: { hours: number; minutes: number }, wallMs: number): number {
  const date = new Date(wallMs);
  date.setHours(hours, minutes, 0, 0);
  if (date.getTime() <= wallMs) date.setDate(date.getDate() + 1);
  return date.getTime();
}
