import type { HubEvent, Timer } from "@roomhub/protocol";
import type { CliContext } from "../../context.ts";
import { CommandError } from "../../exit-code.ts";
import {
  type HubOptionValues,
  inviteOf,
  positiveArgument,
  type RoomhubCommand,
} from "../../options.ts";
import { stepBetween } from "./event-id.ts";
import { eventRecord, type Gap, gapRecord } from "./record-line.ts";
import type { Recording } from "./recording.ts";
import { untilStopped } from "../../terminal/stop-signal.ts";
import { streamReports } from "../../terminal/event-line.ts";
import { countOf, reasonOf, writeJson } from "../../terminal/text.ts";

interface RecordOptionValues extends HubOptionValues {
  out?: string;
  maxBytes: number;
}

const usualMaxBytes = 100_000_000;
const flushMs = 1_000;

export function addRecordCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("record")
    .hubOptions()
    .roomArgument()
    .option("--out <file>", "file to append to (default: stdout)")
    .option(
      "--max-bytes <number>",
      "length at which the file is replaced",
      positiveArgument,
      usualMaxBytes,
    )
    .examples("roomhub record ABC234 --out lab.ndjson")
    .action((room: string, options: RecordOptionValues) => record(context, room, options));
}

/** Runs until stopped. Events that were missed are recorded as a gap. */
async function record(
  context: CliContext,
  room: string,
  options: RecordOptionValues,
): Promise<void> {
  const invite = inviteOf(room, options);
  const client = context.createClient(invite.hubUrl);
  const recording = await openRecording(context, options).catch(failOnDisk);
  const flush = createFlush(context, recording);
  const lines = createLines(context, recording.lastId);
  let isShown = false;
  await untilStopped(context, async (signal) => {
    const events = client.events(invite.room, {
      ...streamReports((line) => context.stderr.write(`${line}\n`)),
      ...{ signal, lastEventId: recording.lastId },
      onOpen: () => {
        if (isShown) return;
        isShown = true;
        if (options.json === true && options.out !== undefined) {
          writeJson(context.stdout, { file: options.out, ...invite });
        }
        context.stderr.write(`recording room ${invite.room} of ${invite.hubUrl}; Ctrl+C stops\n`);
      },
      onEventId: lines.noteId,
    });
    try {
      for await (const event of events) {
        const text = lines.of(event);
        flush.check();
        if (text === "") continue;
        onDisk(() => recording.write(text, event.timestamp.slice(0, 10)));
        flush.later();
      }
    } finally {
      flush.cancel();
      await recording.close().catch(failOnDisk);
      flush.check();
    }
  });
}

async function openRecording(
  context: CliContext,
  { out, maxBytes }: RecordOptionValues,
): Promise<Recording> {
  if (out !== undefined) return context.openRecording({ path: out, maxBytes });
  return {
    lastId: undefined,
    write: (lines) => context.stdout.write(lines),
    flush: () => {},
    close: async () => {},
  };
}

/** The lines of each event: the gap before it, if any, and the event. A repeated event has none. */
function createLines(context: CliContext, recordedId: string | undefined) {
  let lastId = recordedId;
  let id: string | undefined;
  let isRepeated = false;
  let gap: Gap | undefined;
  return {
    noteId: (next: string) => {
      const step = stepBetween(lastId, next);
      id = next;
      isRepeated = step.kind === "repeated";
      if (step.kind === "gap" && lastId !== undefined) {
        gap = joined(gap, { from: lastId, to: next, missed: step.missed });
        const missed = step.missed === null ? "the hub restarted" : countOf(step.missed, "event");
        context.stderr.write(`missed events since the last one recorded: ${missed}\n`);
      }
      if (!isRepeated) lastId = next;
    },
    of: (event: HubEvent): string => {
      const text = isRepeated
        ? ""
        : (gap === undefined ? "" : gapRecord(gap)) + eventRecord(id, event);
      if (!isRepeated) gap = undefined;
      isRepeated = false;
      id = undefined;
      return text;
    },
  };
}

/** Joins two gaps between which there were only events that this version does not know. */
function joined(before: Gap | undefined, next: Gap): Gap {
  if (before === undefined) return next;
  const missed =
    before.missed === null || next.missed === null ? null : before.missed + next.missed;
  return { ...next, from: before.from, missed };
}

/** At most once per second, since waiting for the disk takes longer than writing. */
function createFlush({ world }: CliContext, recording: Recording) {
  let timer: Timer | undefined;
  let failure: unknown;
  return {
    later: () => {
      timer ??= world.setTimeout(() => {
        timer = undefined;
        try {
          recording.flush();
        } catch (error) {
          // Another flush may succeed although these bytes are lost.
          failure ??= error;
        }
      }, flushMs);
    },
    /** @throws CommandError when a flush has failed */
    check: () =>
      onDisk(() => {
        if (failure !== undefined) throw failure;
      }),
    cancel: () => world.clearTimeout(timer),
  };
}

function onDisk<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    return failOnDisk(error);
  }
}

/** @throws CommandError */
function failOnDisk(error: unknown): never {
  throw new CommandError(
    `The recording cannot be written: ${reasonOf(error)}`,
    "choose another file: --out FILE",
  );
}
