import { spawn } from "node:child_process";

/** Opens a URL in the user's browser; where there is none nothing happens, since the URL is printed too. */
export function openBrowser(url: string): void {
  const [command, ...args] = openerOf(process.platform);
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  // No such command, as on a machine without a desktop.
  child.on("error", () => undefined);
  child.unref();
}

function openerOf(platform: NodeJS.Platform): [string, ...string[]] {
  if (platform === "darwin") return ["open"];
  // `start` would read & in the URL as the end of the command.
  return platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler"] : ["xdg-open"];
}
