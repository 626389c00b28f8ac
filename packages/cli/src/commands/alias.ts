import type { Alias } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";
import { type HubOptionValues, inviteOf, type RoomhubCommand } from "../options.ts";
import { savedHostToken } from "../rooms/host-token.ts";
import { hintHere, warnUnlessRouted } from "../rooms/hub-hint.ts";
import { envSecret } from "../secrets.ts";
import { formatTable, safe, writeJson } from "../terminal/text.ts";

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
    .action((room: string, [pattern, ...targets]: string[], options: AliasOptionValues) =>
      alias(context, room, { pattern, targets }, options),
    );
}

async function alias(
  context: CliContext,
  named: string,
  { pattern, targets }: { pattern: string | undefined; targets: readonly string[] },
  options: AliasOptionValues,
): Promise<void> {
  const list = targets.flatMap((text) => text.split(",")).map((text) => text.trim());
  if (pattern === undefined) {
    if (options.delete === true) throw new UsageError("Name the alias to delete");
    return listAliases(context, named, options);
  }
  if (options.delete === true) {
    if (list.length > 0) throw new UsageError("--delete takes no targets");
    return deleteAlias(context, named, pattern, options);
  }
  if (list.length === 0) throw new UsageError("Name at least one target, or pass --delete");
  await setAlias(context, named, { pattern, targets: list }, options);
}

async function listAliases(
  context: CliContext,
  named: string,
  options: AliasOptionValues,
): Promise<void> {
  const { hubUrl, room } = inviteOf(named, options);
  const aliases = await context.createClient(hubUrl).listAliases(room);
  if (options.json === true) return writeJson(context.stdout, { aliases });
  if (aliases.length === 0) {
    const line = hintHere(context, `roomhub alias ${room} 'claude-*' '*'`, hubUrl);
    context.stderr.write(`Room ${room} has no aliases.\n→ ${line}\n`);
    return;
  }
  const rows = aliases.map(({ pattern, targets }) => [
    safe(pattern),
    targets.map((target) => safe(target)).join(", "),
  ]);
  context.stdout.write(formatTable(["name", "targets"], rows, context.stdout.columns));
}

async function setAlias(
  context: CliContext,
  named: string,
  { pattern, targets }: Pick<Alias, "pattern" | "targets">,
  options: AliasOptionValues,
): Promise<void> {
  const invite = inviteOf(named, options);
  const { hubUrl, room } = invite;
  const client = context.createClient(hubUrl);
  const hostToken = await hostTokenOf(context, invite, options);
  const added = await client.setAlias(room, pattern, targets, { hostToken });
  await warnUnlessRouted(context, invite, pattern);
  if (options.json === true) return writeJson(context.stdout, { alias: added });
  const shown = added.targets.map((target) => safe(target)).join(", ");
  context.stderr.write(`${safe(pattern)} stands for ${shown} in room ${room}\n`);
}

async function deleteAlias(
  context: CliContext,
  named: string,
  pattern: string,
  options: AliasOptionValues,
): Promise<void> {
  const invite = inviteOf(named, options);
  const hostToken = await hostTokenOf(context, invite, options);
  await context.createClient(invite.hubUrl).removeAlias(invite.room, pattern, { hostToken });
  if (options.json === true) return writeJson(context.stdout, { success: true });
  context.stderr.write(`${safe(pattern)} is no longer an alias in room ${invite.room}\n`);
}

async function hostTokenOf(
  context: CliContext,
  invite: { hubUrl: string; room: string },
  { tokenEnv }: AliasOptionValues,
): Promise<string | undefined> {
  if (tokenEnv !== undefined) return envSecret(context, tokenEnv);
  return savedHostToken(context, invite);
}
