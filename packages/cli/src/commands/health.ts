import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { addHubOptions, type HubOptionValues } from "../options.ts";
import { duration, safe, writeJson } from "../terminal/text.ts";

export function addHealthCommand(program: Command, context: CliContext): void {
  addHubOptions(program.command("health").description("check hub health"))
    .addHelpText("after", "\nExample:\n  $ roomhub health --hub http://192.168.1.5:5050")
    .action((options: HubOptionValues) => showHealth(context, options));
}

/** A draining hub responds but counts as a failure, since it accepts no new requests. */
async function showHealth(context: CliContext, options: HubOptionValues): Promise<void> {
  const health = await context.createClient(options.hub).health();
  if (options.json === true) writeJson(context.stdout, health);
  else {
    const uptime =
      health.uptimeSeconds === undefined ? "" : `, up ${duration(health.uptimeSeconds * 1000)}`;
    const version =
      health.version === undefined ? "" : ` (roomhub ${safe(health.version)}${uptime})`;
    context.stdout.write(`${options.hub} ${safe(health.status)}${version}\n`);
  }
  if (health.status === "degraded") {
    // It serves what is connected: a container that is restarted for this would lose that.
    context.stderr.write(
      "! The hub cannot reach its cluster: new rooms and joins are refused until it can; check nats-server\n",
    );
    return;
  }
  if (health.status !== "ok") {
    throw new CommandError(
      `The hub at ${options.hub} is ${health.status}`,
      `it finishes running requests and accepts no new ones; once it has stopped: ${context.commandName} serve`,
    );
  }
}
