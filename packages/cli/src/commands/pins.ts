import { pinnedHostOf } from "@roomhub/client";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { withPort } from "../rooms/hub-address.ts";
import { type RoomhubCommand } from "../options.ts";
import { writeJson } from "../terminal/text.ts";
import { forgetPin, savedPins } from "../tls/pins.ts";

export function addPinsCommand(program: RoomhubCommand, context: CliContext): void {
  const command = program
    .command("pins")
    .alias("pin")
    .examples("roomhub pins list", "roomhub pins forget 192.168.1.5:5050");
  command
    .command("list")
    .jsonOption()
    .description("list hubs and their keys")
    .examples("roomhub pins list")
    .action((options: { json?: boolean }) => list(context, options.json === true));
  command
    .command("forget <hub>")
    .description("connect to a hub as if no invite had pinned its key")
    .examples("roomhub pins forget 192.168.1.5:5050")
    .action((hub: string) => forget(context, hub));
}

async function list(context: CliContext, isJson: boolean): Promise<void> {
  const pins = await savedPins(context);
  if (isJson) return writeJson(context.stdout, { pins });
  if (pins.length === 0) context.stderr.write("No invite has pinned the key of a hub\n");
  for (const { host, pin } of pins) context.stdout.write(`${host}  ${pin}\n`);
}

async function forget(context: CliContext, hub: string): Promise<void> {
  const url = hub.includes("://") ? hub : `https://${withPort(hub)}`;
  const host = URL.canParse(url) ? pinnedHostOf(url) : hub;
  if (!(await savedPins(context)).some((one) => one.host === host)) {
    throw new CommandError(
      `No key of ${host} is known`,
      `see those that are: ${context.commandName} pins list`,
      EXIT.notFound,
    );
  }
  await forgetPin(context, host);
  context.stderr.write(`Forgot the key of ${host}; its next invite pins one\n`);
}
