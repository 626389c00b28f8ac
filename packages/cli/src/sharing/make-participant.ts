import { checkEndpoint, ERROR_STATUS } from "@roomhub/protocol";
import type { ParticipantOptions, StopReason } from "@roomhub/participant";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT, type ExitCode, exitCodeOfStatus, UsageError } from "../exit-code.ts";
import type { RunningParticipant } from "../capabilities.ts";
import { reasonOf, safe } from "../terminal/text.ts";

/** @throws UsageError when the endpoint or a header cannot be used */
export async function makeParticipant(
  context: CliContext,
  options: ParticipantOptions,
): Promise<RunningParticipant> {
  try {
    const machineSecret = await machineSecretFor(context, options.endpoint);
    return await context.createParticipant({ ...options, machineSecret });
  } catch (error) {
    if (error instanceof Error && error.name === "ParticipantError") {
      throw new UsageError(error.message);
    }
    throw error;
  }
}

/** @returns undefined if it cannot be stored; sharing works without it, but the hub then counts the slots of each model separately */
async function machineSecretFor(
  { machineSecretOf }: CliContext,
  endpoint: string,
): Promise<string | undefined> {
  const checked = checkEndpoint(endpoint);
  if (!checked.ok) return undefined;
  return machineSecretOf(checked.baseUrl).catch(() => undefined);
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

/** Saves the key with which the owner's requests go first, and prints how to use it. */
export async function keepClientKey(
  context: CliContext,
  { hubUrl, room, id }: Pick<ParticipantOptions, "hubUrl" | "room" | "id">,
  token: string,
  say: (text: string) => void,
): Promise<void> {
  say(
    `Your requests go first at ${safe(id)} with OPENAI_API_KEY=${safe(token)}; from this machine also without it, unless a proxy is in between`,
  );
  try {
    await (await context.savedTokens("client-keys")).save({ hubUrl, room, id, token });
  } catch (error) {
    say(`! the key could not be kept: ${safe(reasonOf(error))}`);
  }
}
