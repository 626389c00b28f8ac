import { ERROR_STATUS } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT, type ExitCode, exitCodeOfStatus, UsageError } from "../exit-code.ts";
import type { ParticipantOptions, RunningParticipant, StopReason } from "../services.ts";

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

/** The error for a participant that stopped. */
export function stoppedError({ code, reason, hint }: StopReason): CommandError {
  return new CommandError(reason, hint, exitCodeFor(code));
}

/** The exit code for a hub's error code. */
function exitCodeFor(code: string): ExitCode {
  const row = Object.entries(ERROR_STATUS).find(([name]) => name === code)?.[1];
  return row === undefined ? EXIT.failure : exitCodeOfStatus(row.status);
}
