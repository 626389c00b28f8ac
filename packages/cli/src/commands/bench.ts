import { type BenchResult, readBenchResult } from "@roomhub/room-state";
import { changesSince } from "../bench/bench-figures.ts";
import { benchText, changesText } from "../bench/bench-text.ts";
import { runBench } from "../bench/run-bench.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import type { HubOptionValues, RoomhubCommand } from "../options.ts";
import { savedHostToken } from "../rooms/host-token.ts";
import { locateRoom } from "../rooms/locate.ts";
import { untilStopped } from "../terminal/stop-signal.ts";
import { safe, writeJson } from "../terminal/text.ts";
import { examples } from "../command-list.ts";

interface BenchOptionValues extends HubOptionValues {
  model?: string;
  yes?: boolean;
  save?: string;
  against?: string;
}

export function addBenchCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("bench")
    .argument("[room]", "room code, invite URL or hub URL (default: the hub's only room)")
    .hubOptions()
    .option("--model <selector>", "only this participant id or model name")
    .option("-y, --yes", "measure participants with a budget too, and spend of it")
    .option("--save <path>", "write the result to a new file")
    .option("--against <path>", "say what has changed since a saved result")
    .addHelpText(
      "after",
      `
Participants are measured one after the other, each with some ten short
requests, and only while no other request waits or runs there. The room learns
what their models were seen to do when its host measures.
${examples("roomhub bench ABC234", "roomhub bench ABC234 --save monday.json", "roomhub bench ABC234 --against monday.json")}`,
    )
    .action((room: string | undefined, options: BenchOptionValues) =>
      bench(context, room, options),
    );
}

async function bench(
  context: CliContext,
  target: string | undefined,
  options: BenchOptionValues,
): Promise<void> {
  const { against, save, model, yes = false, json = false } = options;
  const before = against === undefined ? undefined : await readResult(context, against);
  const invite = await locateRoom(context, target, options, (url) => `bench ${url}`);
  const hostToken = await savedHostToken(context, invite);
  const result = await untilStopped(context, (signal) =>
    runBench(context, {
      ...invite,
      ...{ only: model, spendsBudgets: yes, hostToken, signal },
      onParticipant: ({ id }) => {
        if (!json) context.stderr.write(`Measuring ${safe(id)} …\n`);
      },
    }),
  );
  if (save !== undefined) await write(context, save, result);
  const changes = before === undefined ? undefined : changesSince(before, result);
  if (json) {
    writeJson(context.stdout, changes === undefined ? result : { ...result, changes });
    return;
  }
  context.stdout.write(benchText(result, context.stdout.columns ?? Number.POSITIVE_INFINITY));
  if (changes !== undefined) context.stdout.write(changesText(changes, before?.at ?? ""));
}

/** @throws CommandError when the file is no result */
async function readResult(context: CliContext, path: string): Promise<BenchResult> {
  const result = readBenchResult(await context.readFile(path));
  if (result !== undefined) return result;
  throw new CommandError(
    `${path} is not a result of bench`,
    `write one: ${context.commandName} bench --save ${path}`,
    EXIT.usage,
  );
}

async function write(context: CliContext, path: string, result: BenchResult): Promise<void> {
  try {
    await context.createFile(path, `${JSON.stringify(result, undefined, 2)}\n`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new CommandError(`${path} exists already`, "save to another path", EXIT.usage);
  }
}
