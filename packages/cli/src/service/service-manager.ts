import { win32 } from "node:path";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { launchdManager } from "./launchd.ts";
import { scheduledTaskManager } from "./scheduled-task.ts";
import { secretsPath } from "./secrets-file.ts";
import type { ServiceManager } from "./service-unit.ts";
import { systemdManager } from "./systemd.ts";

/** What this machine has. @throws CommandError when it has none that is supported */
export async function serviceManager(context: CliContext): Promise<ServiceManager> {
  const { env } = context;
  const host = await context.serviceHost();
  switch (host.platform) {
    case "linux":
      return systemdManager(host, env["XDG_CONFIG_HOME"]);
    case "darwin":
      return launchdManager(host);
    case "win32": {
      const folder = win32.dirname(await secretsPath(context, "any"));
      const domain = env["USERDOMAIN"] ?? context.hostName;
      return scheduledTaskManager(host, folder, `${domain}\\${context.userName}`);
    }
    default:
      throw new CommandError(
        `Services are for Linux, macOS and Windows, not for ${host.platform}`,
        `let the machine's own tools run: ${context.commandName} serve`,
      );
  }
}
