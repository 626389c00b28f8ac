import { HubUnreachableError, InvalidHubUrlError, RoomhubError } from "@roomhub/client";
import { withCommandName } from "../command-list.ts";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { hintHere, unreachableHubHint } from "../rooms/hub-hint.ts";
import { colorsFor, reasonOf, safe, safeLines } from "./text.ts";

/**
 * Prints an error on stderr: the message, the next step, and for a refused request the participants with the reason each
 * was skipped. Errors are printed nowhere else.
 *
 * @param isVerbose - print stack traces too, including those of causes
 * @param hubUrl - the hub contacted last; undefined when none was
 */
export function renderError(
  context: CliContext,
  error: unknown,
  { isVerbose, hubUrl }: { isVerbose: boolean; hubUrl: string | undefined },
): void {
  const colors = colorsFor(context, context.stderr);
  const line = (text: string) => context.stderr.write(`${text}\n`);
  const message = safe(reasonOf(error));
  line(colors.red(`error: ${withCommandName(context, message)}`));
  const hint = hintOf(context, error);
  if (hint !== undefined) line(`→ ${hintHere(context, safe(hint), hubUrl)}`);
  if (error instanceof CommandError) {
    for (const text of error.lines) line(`  ${safe(text)}`);
  }
  if (error instanceof RoomhubError) {
    for (const { id, model, reason } of error.participants ?? []) {
      line(`  ${safe(id)} (${safe(model)}): ${safe(reason)}`);
    }
  }
  if (isVerbose) line(colors.dim(safeLines(traceOf(error))));
}

function hintOf(context: CliContext, error: unknown): string | undefined {
  if (error instanceof HubUnreachableError) return unreachableHubHint(context, error);
  if (error instanceof InvalidHubUrlError) return "list rooms and their codes: roomhub room list";
  const hasHint = error instanceof RoomhubError || error instanceof CommandError;
  return hasHint ? error.hint : undefined;
}

/** The stack traces of an error and its causes. */
function traceOf(error: unknown): string {
  const traces: string[] = [];
  for (let current = error; current instanceof Error; current = current.cause) {
    traces.push(current.stack ?? String(current));
  }
  return traces.join("\ncaused by: ");
}
