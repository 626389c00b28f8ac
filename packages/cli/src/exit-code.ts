import { HubUnreachableError, InvalidHubUrlError, RoomhubError } from "@roomhub/client";
import { reasonOf } from "./terminal/text.ts";

/** Exit codes of commands; listed in docs/reference/cli.md. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  unreachable: 5,
  /** of `batch`: every request has its result, and some are errors */
  someFailed: 6,
  /** of `batch`: the same command continues */
  stopped: 7,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The command line or the configuration is invalid. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** @param what - as in "The key file keys.txt" @throws UsageError when it cannot be read */
export async function readable<Content>(what: string, reading: Promise<Content>): Promise<Content> {
  try {
    return await reading;
  } catch (error) {
    throw new UsageError(`${what} cannot be read: ${reasonOf(error)}`);
  }
}

/**
 * @param problem - as in "The page cannot be served"
 * @param hint - the next step
 * @throws CommandError with the reason why the work failed
 */
export async function explained<T>(problem: string, hint: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new CommandError(`${problem}: ${reasonOf(error)}`, hint);
  }
}

/** A failure of a command, with the next step. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;
  /** Candidates to choose from, one per line. */
  readonly lines: readonly string[];

  constructor(
    message: string,
    hint?: string,
    exitCode: ExitCode = EXIT.failure,
    lines: readonly string[] = [],
  ) {
    super(message);
    this.hint = hint;
    this.exitCode = exitCode;
    this.lines = lines;
  }
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof UsageError || error instanceof InvalidHubUrlError) return EXIT.usage;
  if (error instanceof HubUnreachableError) return EXIT.unreachable;
  if (!(error instanceof RoomhubError)) return EXIT.failure;
  return exitCodeOfStatus(error.status);
}

export function exitCodeOfStatus(status: number): ExitCode {
  if (status === 404) return EXIT.notFound;
  if (status === 401 || status === 403 || status === 409) return EXIT.refused;
  return EXIT.failure;
}
