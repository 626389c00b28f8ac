import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import type { HubOptionValues, RoomhubCommand } from "../options.ts";
import { locate } from "../rooms/locate.ts";
import { explainOtherServer } from "../sharing/found-server.ts";
import { duration, safe, writeJson } from "../terminal/text.ts";

export function addHealthCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("health")
    .hubOptions()
    .argument("[target]", "hub URL, room code or invite URL (default: the hub on this machine)")
    .examples("roomhub health http://192.168.1.5:5050")
    .action(async (target: string | undefined, options: HubOptionValues) => {
      const { hubUrl } = await locate(context, target, options);
      await showHealth(context, hubUrl, options.json === true);
    });
}

/** A draining hub responds but counts as a failure, since it accepts no new requests. */
async function showHealth(context: CliContext, hubUrl: string, isJson: boolean): Promise<void> {
  const asked = context.createClient(hubUrl).health();
  const health = await asked.catch(async (error: unknown) => {
    throw await explainOtherServer(context, hubUrl, error);
  });
  if (isJson) writeJson(context.stdout, health);
  else {
    const { status, version, uptimeSeconds } = health;
    const uptime = duration(uptimeSeconds * 1000);
    context.stdout.write(`${hubUrl} ${safe(status)} (roomhub ${safe(version)}, up ${uptime})\n`);
  }
  if (health.status === "degraded") {
    // The hub still serves what is connected to it, and a restart of its container would end that.
    context.stderr.write(
      "! The hub cannot reach its cluster: new rooms are refused until it can, others go on; check nats-server\n",
    );
    return;
  }
  if (health.status !== "ok") {
    throw new CommandError(
      `The hub at ${hubUrl} is ${health.status}`,
      `it finishes running requests and accepts no new ones; once it has stopped: ${context.commandName} serve`,
    );
  }
}
