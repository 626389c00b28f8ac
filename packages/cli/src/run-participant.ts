import type { CliContext } from "./context.ts";
import { CommandError, EXIT, type ExitCode, exitCodeOfStatus } from "./exit-code.ts";
import { noticeLine } from "./notice-line.ts";
import type { ParticipantOptions } from "./services.ts";
import { aborted } from "./stop-signal.ts";
import { colorsFor, writeJson } from "./text.ts";
import { ERROR_STATUS } from "@roomhub/protocol";

export interface RunOptions {
  /** Aborting it makes the participant leave. */
  signal: AbortSignal;
  /** Notices as NDJSON on stdout instead of lines on stderr. */
  isJson: boolean;
}

/**
 * Keeps a participant in its room until stopped, saying what happens.
 *
 * @throws CommandError when the hub refuses it for good
 */
export async function runParticipant(
  context: CliContext,
  options: ParticipantOptions,
  { signal, isJson }: RunOptions,
): Promise<void> {
  const colors = colorsFor(context, context.stderr);
  const participant = await context.createParticipant({
    ...options,
    onNotice: (notice) => {
      if (isJson) return writeJson(context.stdout, notice);
      const line = noticeLine(notice, context.nowMs(), colors);
      context.stderr.write(`${line}\n`);
    },
  });
  const asked = aborted(signal).then(() => undefined);
  const started = participant.start().then(() => participant.stopped);
  try {
    const stopped = await Promise.race([asked, started]);
    if (stopped !== undefined && !signal.aborted) {
      throw new CommandError(stopped.reason, undefined, exitCodeOfCode(stopped.code));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    // What fails while leaving was asked for is of no interest any more.
  } finally {
    await participant.close();
  }
  if (!isJson) context.stderr.write(`${options.id} left room ${options.room}\n`);
}

function exitCodeOfCode(code: string | undefined): ExitCode {
  const row = Object.entries(ERROR_STATUS).find(([name]) => name === code)?.[1];
  return row === undefined ? EXIT.failure : exitCodeOfStatus(row.status);
}
