import { ERROR_STATUS } from "@roomhub/protocol";
import type { CliContext } from "./context.ts";
import { CommandError, EXIT, type ExitCode, exitCodeOfStatus, UsageError } from "./exit-code.ts";
import { noticeLine } from "./notice-line.ts";
import type { ParticipantNotice, ParticipantOptions, RunningParticipant } from "./services.ts";
import { aborted } from "./stop-signal.ts";
import { colorsFor, safe, writeJson } from "./text.ts";

export interface RunOptions {
  /** Aborting it makes the participant leave. */
  signal: AbortSignal;
  /** Notices as NDJSON on stdout instead of lines on stderr. */
  isJson: boolean;
}

/**
 * Keeps a participant in its room until stopped, saying what happens.
 *
 * @throws CommandError when the hub refuses it for good, UsageError when it cannot even be made
 */
export async function runParticipant(
  context: CliContext,
  options: ParticipantOptions,
  { signal, isJson }: RunOptions,
): Promise<void> {
  const colors = colorsFor(context, context.stderr);
  const say = (text: string) => context.stderr.write(`${text}\n`);
  const participant = await makeParticipant(context, {
    ...options,
    onNotice: (notice) => {
      if (isJson) return writeJson(context.stdout, forJson(notice));
      // How it ended is said below, once.
      const line =
        notice.kind === "stopped" ? undefined : noticeLine(notice, context.nowMs(), colors);
      if (line !== undefined) say(line);
    },
  });
  try {
    const stopped = await Promise.race([aborted(signal), startAndStay(participant)]);
    if (stopped !== undefined)
      throw new CommandError(stopped.reason, undefined, exitCodeFor(stopped.code));
    if (!isJson) say("Leaving: running requests may finish; Ctrl+C again stops at once");
  } finally {
    await participant.close();
  }
  if (!isJson) say(`${safe(options.id)} left room ${safe(options.room)}`);
}

/** @throws UsageError when the endpoint or a header cannot be used */
export async function makeParticipant(
  context: CliContext,
  options: ParticipantOptions,
): Promise<RunningParticipant> {
  try {
    return await context.createParticipant(options);
  } catch (error) {
    if (error instanceof Error && error.name === "ParticipantError") {
      throw new UsageError(error.message);
    }
    throw error;
  }
}

/** Starts and resolves when it is over, before or after the first connection: `stopped` tells a refusal's code. */
async function startAndStay(
  participant: RunningParticipant,
): Promise<{ code: string; reason: string }> {
  await participant.start().catch(() => {});
  return participant.stopped;
}

/** The exit code for a hub's error code. */
export function exitCodeFor(code: string): ExitCode {
  const row = Object.entries(ERROR_STATUS).find(([name]) => name === code)?.[1];
  return row === undefined ? EXIT.failure : exitCodeOfStatus(row.status);
}

/** An error has no fields of its own that JSON would show. */
function forJson(notice: ParticipantNotice): object {
  if (notice.kind !== "fault") return notice;
  const { error } = notice;
  return { kind: "fault", error: error instanceof Error ? error.message : String(error) };
}
