import type { Invite } from "@roomhub/client";
import { withoutLatest } from "@roomhub/protocol";
import { canReplaceStandIn } from "@roomhub/room-state";
import type { CliContext, Client } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { defaultHubUrl } from "../rooms/hub-address.ts";
import { safe, shellWord } from "../terminal/text.ts";

/**
 * The one model of a room, for programs that need a name; a stand-in's counts only while no other can serve. Without any,
 * `*` with a warning, since one may join later.
 *
 * @param option - for the lines to paste: `--for claude`
 * @throws CommandError when there are several
 */
export async function onlyModel(
  context: CliContext,
  client: Client,
  { hubUrl, room }: Invite,
  option: string,
): Promise<string> {
  const participants = await client.listParticipants(room);
  const online = participants.filter(({ status }) => status !== "offline");
  const isReplaced = online.some(canReplaceStandIn);
  const offered = isReplaced ? online.filter(({ standIn }) => standIn !== true) : online;
  const models = [...new Set(offered.map(({ model }) => withoutLatest(model)))];
  const [model] = models;
  if (model === undefined) {
    context.stderr.write(`! Room ${room} has no model yet; the model is *, any of the room's\n`);
    return "*";
  }
  if (models.length === 1) return model;
  const where = hubUrl === defaultHubUrl ? room : shellWord(`${hubUrl}/rooms/${room}`);
  throw new CommandError(
    `Room ${room} has ${models.length} models`,
    "name one:",
    EXIT.usage,
    models
      .slice(0, 8)
      .map(
        (one) => `${context.commandName} env ${where} ${option} --model ${shellWord(safe(one))}`,
      ),
  );
}
