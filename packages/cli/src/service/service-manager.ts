import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { launchdManager } from "./launchd.ts";
import type { ServiceManager } from "./service-unit.ts";
import { systemdManager } from "./systemd.ts";

/** What this machine has. @throws CommandError when it has none that is supported */
export async function serviceManager(context: CliContext): Promise<ServiceManager> {
  const host = await context.serviceHost();
  switch (host.platform) {
    case "linux":
      return systemdManager(host, context.env["XDG_CONFIG_HOME"]);
    case "darwin":
      return launchdManager(host);
    case "win32":
      throw onWindows(context);
    default:
      throw new CommandError(
        `Services are for Linux and macOS, not for ${host.platform}`,
        `let the machine's own tools run: ${context.commandName} serve`,
      );
  }
}

/** The lines also find and remove a task that an earlier version installed. */
function onWindows({ commandName }: CliContext): CommandError {
  const task = "/TN roomhub\\serve";
  return new CommandError(
    "Services are for Linux and macOS; on Windows the task scheduler starts a program at each login",
    "the same for serve, or any other command:",
    EXIT.failure,
    [
      `schtasks /Create ${task} /SC ONLOGON /TR "${commandName} serve"`,
      `schtasks /Run ${task}`,
      `schtasks /Query ${task}`,
      `schtasks /Delete ${task}`,
    ],
  );
}
