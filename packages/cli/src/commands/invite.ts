import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { addHubOptions, examples, givenHub, type HubOptionValues } from "../options.ts";
import { inviteText, pastedHubAt, shareLine, watchUrlOf } from "../rooms/invite-text.ts";
import { locateRoom, type Named } from "../rooms/locate.ts";
import { writeJson } from "../terminal/text.ts";

export function addInviteCommand(program: Command, context: CliContext): void {
  const command = addHubOptions(program.command("invite"))
    .argument("[room]", "room code, invite URL or hub URL (default: the hub's only room)")
    .addHelpText("after", examples("roomhub invite", "roomhub invite ABC234"))
    .action((target: string | undefined, options: HubOptionValues) =>
      invite(context, { target, hubUrl: givenHub(command), isQuiet: options.json }, options),
    );
}

async function invite(context: CliContext, named: Named, options: HubOptionValues): Promise<void> {
  const { hubUrl, room: code } = await locateRoom(context, named, (url) => `invite ${url}`);
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
    baseUrl: `${url}/v1`,
    watchUrl: watchUrl ?? null,
    join,
  });
}
