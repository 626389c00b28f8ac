import { inviteUrl } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";
import { clientName, type HubOptionValues, inviteOf, type RoomhubCommand } from "../options.ts";
import { addHostOptions, type HostOptionValues } from "../rooms/host-token.ts";
import { inviteText, pastedHubAt, qrCode, shareLine, watchUrlOf } from "../rooms/invite-text.ts";
import { locateRoom } from "../rooms/locate.ts";
import { safe, writeJson } from "../terminal/text.ts";
import {
  addNewKeyOptions,
  createKey,
  type NewKeyOptionValues,
  warnAboutOpenRoom,
} from "./rooms/key.ts";

type InviteOptionValues = HubOptionValues &
  HostOptionValues &
  NewKeyOptionValues & { for?: string };

export function addInviteCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("invite")
    .hubOptions()
    .option(
      "--for <name>",
      "create a key for a person, with link and QR code; of the room that is named",
      clientName,
    )
    .with(addHostOptions)
    .with(addNewKeyOptions)
    .argument("[room]", "room code, invite URL or hub URL (default: the hub's only room)")
    .examples("roomhub invite", "roomhub invite ABC234", "roomhub invite ABC234 --for ada")
    .action((target: string | undefined, options: InviteOptionValues) =>
      options.for === undefined
        ? invite(context, target, options)
        : inviteOne(context, target, options.for, options),
    );
}

/** Brings one person into a closed room. Only the link contains the key, no line for a shell does. */
async function inviteOne(
  context: CliContext,
  target: string | undefined,
  name: string,
  options: InviteOptionValues,
): Promise<void> {
  if (target === undefined) throw new UsageError("Name the room that the key is for");
  const room = inviteOf(target, options);
  const { key, isClosed } = await createKey(context, room, name, options);
  const hub = await pastedHubAt(context, room.hubUrl);
  const link = hub.isHandedOut
    ? `${hub.hubUrl}/monitor/?room=${room.room}#key=${key.value}${hub.pin === undefined ? "" : `&pin=${hub.pin}`}`
    : undefined;
  const share = shareLine(context, hub, room.room);
  const command = key.may.includes("share") ? share : share.replace(" join ", " chat ");
  if (options.json === true) {
    return writeJson(context.stdout, { room: room.room, key, link: link ?? null, command });
  }
  context.stdout.write(
    [
      ...(link === undefined
        ? [`The key of ${safe(key.name)}`, `  ${key.value}`]
        : [`For ${safe(key.name)} alone: this link lets its holder in`, `  ${link}`]),
      "On a computer: it asks for the key, which is the end of the link",
      `  ${command}`,
      "",
      ...(link === undefined ? [] : [qrCode(context, context.stdout, link, 3)]),
    ].join("\n"),
  );
  if (!isClosed) warnAboutOpenRoom(context, room);
}

async function invite(
  context: CliContext,
  target: string | undefined,
  options: HubOptionValues,
): Promise<void> {
  const asCommand = (url: string) => `invite ${url}`;
  const { hubUrl, room: code } = await locateRoom(context, target, options, asCommand);
  const room = await context.createClient(hubUrl).getRoom(code);
  const hub = await pastedHubAt(context, hubUrl);
  const watchUrl = watchUrlOf(hub, room.code);
  if (options.json !== true) {
    context.stdout.write(inviteText(context, { hub, room, watchUrl }, undefined));
    return;
  }
  const url = `${hub.hubUrl}/rooms/${room.code}`;
  const join = shareLine(context, hub, room.code);
  writeJson(context.stdout, {
    room: room.code,
    url,
    invite: inviteUrl(hub, room.code),
    baseUrl: `${url}/v1`,
    watchUrl: watchUrl ?? null,
    join,
  });
}
