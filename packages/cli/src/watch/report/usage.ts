import type { Timer } from "@roomhub/protocol";
import type { CliContext } from "../../context.ts";
import { type HubOptionValues, inviteOf, type RoomhubCommand } from "../../options.ts";
import { canErase } from "../../terminal/interactivity.ts";
import { untilStopped } from "../../terminal/stop-signal.ts";
import { notCounted, streamReports } from "../../terminal/event-line.ts";
import { writeJson } from "../../terminal/text.ts";
import { usageJson, UsageSums } from "./usage-sums.ts";
import { createUsageScreen, usageTable } from "./report-tables.ts";

const intervalMs = 1_000;

export function addUsageCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("usage")
    .hubOptions()
    .roomArgument()
    .examples("roomhub usage ABC234", "roomhub usage ABC234 --json")
    .action((room: string, options: HubOptionValues) => countUsage(context, room, options));
}

/** Runs until stopped. Requests that end while the event stream is disconnected are not counted. */
async function countUsage(
  context: CliContext,
  room: string,
  options: HubOptionValues,
): Promise<void> {
  const invite = inviteOf(room, options);
  const { stderr } = context;
  const sums = new UsageSums();
  const output = outputOf(context, sums, options.json === true);
  await untilStopped(context, async (signal) => {
    const events = context.createClient(invite.hubUrl).events(invite.room, {
      ...{ ...streamReports((line) => stderr.write(`${line}\n`), notCounted), signal },
      onOpen: () => stderr.write(`counting the requests of room ${invite.room} from now on\n`),
    });
    try {
      for await (const event of events) {
        sums.note(event);
        output.changed();
      }
    } finally {
      output.end();
    }
  });
}

/** JSON: each row as it changes. A terminal: one table that replaces itself. A pipe: the table at the end. */
function outputOf(context: CliContext, sums: UsageSums, isJson: boolean) {
  const { stdout } = context;
  const screen = createUsageScreen(stdout);
  const isLive = canErase(context, stdout);
  const show = (isEnd: boolean) => {
    const changed = sums.takeChanged();
    if (isJson) for (const row of changed) writeJson(stdout, usageJson(row));
    else if (isLive) {
      if (changed.length > 0) screen(sums.rows());
    } else if (isEnd) stdout.write(usageTable(sums.rows(), stdout.columns));
  };
  const { world } = context;
  let timer: Timer | undefined;
  return {
    /** At most once per second something is shown. */
    changed() {
      timer ??= world.setTimeout(() => {
        timer = undefined;
        show(false);
      }, intervalMs);
    },
    end() {
      world.clearTimeout(timer);
      show(true);
    },
  };
}
