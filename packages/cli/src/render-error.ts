import { HubUnreachableError, InvalidHubUrlError, RoomhubError } from "@roomhub/client";
import type { CliContext } from "./context.ts";
import { CommandError, UsageError } from "./exit-code.ts";
import { colorsFor, safe } from "./text.ts";

/**
 * Says on stderr what went wrong: the message, the next step below it, and for a refusal who is there and why each was
 * not taken. The only place that does.
 */
export function renderError(context: CliContext, error: unknown): void {
  const colors = colorsFor(context, context.stderr);
  const line = (text: string) => context.stderr.write(`${text}\n`);
  const known =
    error instanceof RoomhubError ||
    error instanceof HubUnreachableError ||
    error instanceof InvalidHubUrlError ||
    error instanceof CommandError ||
    error instanceof UsageError;
  if (!known) {
    line(colors.red(`error: ${safe(error instanceof Error ? error.message : String(error))}`));
    if (context.env["ROOMHUB_DEBUG"] !== undefined && error instanceof Error) {
      line(error.stack ?? "");
    }
    return;
  }
  line(colors.red(`error: ${safe(error.message)}`));
  if (error instanceof RoomhubError || error instanceof CommandError) {
    if (error.hint !== undefined) line(`→ ${safe(error.hint)}`);
  }
  if (error instanceof RoomhubError) {
    for (const { id, model, reason } of error.participants ?? []) {
      line(`  ${safe(id)} (${safe(model)}): ${safe(reason)}`);
    }
  }
}
