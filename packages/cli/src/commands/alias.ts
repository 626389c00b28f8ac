import type { Invite } from "@roomhub/client";
import type { Alias } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";
import { type HubOptionValues, inviteOf, type RoomhubCommand } from "../options.ts";
import { savedHostToken } from "../rooms/host-token.ts";
import { hintHere, warnUnlessRouted } from "../rooms/hub-hint.ts";
import { envSecret } from "../secrets.ts";
import { formatTable, printDone, safe, writeJson } from "../terminal/text.ts";

interface AliasOptionValues extends HubOptionValues {
  delete?: boolean;
  tokenEnv?: string;
}

export function addAliasCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("alias")
    .hubOptions()
    .roomArgument()
    .argument(
      "[names...]",
      "the name that requests use, in which * stands for any text; then what it stands for: models, ids, or * for any, in order",
    )
    .option("--delete", "remove the alias")
    .option(
      "--token-env <variable>",
      "the room's host token, from an environment variable (default: saved at its creation)",
    )
    .examples(
      "roomhub alias ABC234 'claude-*' 'qwen3-coder,*'",
      "roomhub alias ABC234 '*' '*'      # any name reaches any model",
      "roomhub alias ABC234 'claude-*' --delete",
    )
    .action((room: string, [pattern, ...given]: string[], options: AliasOptionValues) => {
      const targets = given.flatMap((text) => text.split(",")).map((text) => text.trim());
      return alias(context, inviteOf(room, options), pattern, targets, options);
    });
}

async function alias(
  context: CliContext,
  invite: Invite,
  pattern: string | undefined,
  targets: readonly string[],
  options: AliasOptionValues,
): Promise<void> {
  const isDeleted = options.delete === true;
  if (pattern === undefined) {
    if (isDeleted) throw new UsageError("Name the alias to delete");
    return listAliases(context, invite, options);
  }
  if (isDeleted && targets.length > 0) throw new UsageError("--delete takes no targets");
  if (!isDeleted && targets.length === 0) {
    throw new UsageError("Name at least one target, or pass --delete");
  }
  const { hubUrl, room } = invite;
  const client = context.createClient(hubUrl);
  const { tokenEnv } = options;
  const hostToken =
    tokenEnv === undefined ? await savedHostToken(context, invite) : envSecret(context, tokenEnv);
  if (isDeleted) {
    await client.removeAlias(room, pattern, { hostToken });
    const line = `${safe(pattern)} is no longer an alias in room ${room}`;
    return printDone(context, options, { success: true }, line);
  }
  const added = await client.setAlias(room, pattern, targets, { hostToken });
  await warnUnlessRouted(context, invite, pattern);
  const line = `${safe(pattern)} stands for ${targetsText(added)} in room ${room}`;
  printDone(context, options, { alias: added }, line);
}

async function listAliases(
  context: CliContext,
  { hubUrl, room }: Invite,
  options: AliasOptionValues,
): Promise<void> {
  const aliases = await context.createClient(hubUrl).listAliases(room);
  if (options.json === true) return writeJson(context.stdout, { aliases });
  if (aliases.length === 0) {
    const line = hintHere(context, `roomhub alias ${room} 'claude-*' '*'`, hubUrl);
    context.stderr.write(`Room ${room} has no aliases.\n→ ${line}\n`);
    return;
  }
  const rows = aliases.map((each) => [safe(each.pattern), targetsText(each)]);
  context.stdout.write(formatTable(["name", "targets"], rows, context.stdout.columns));
}

function targetsText({ targets }: Alias): string {
  return targets.map((target) => safe(target)).join(", ");
}
