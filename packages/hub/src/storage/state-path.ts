import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/**
 * `$XDG_STATE_HOME/roomhub/rooms-<port>.json`, or below `~/.local/state`. Contract §1. By port, so that two hubs of one
 * user have a file each.
 */
export function defaultStatePath(
  port: number,
  env: Readonly<Record<string, string | undefined>>,
): string {
  // The XDG specification: a relative path is to be ignored.
  const xdg = env["XDG_STATE_HOME"];
  const base =
    xdg !== undefined && isAbsolute(xdg) ? xdg : join(env["HOME"] || homedir(), ".local", "state");
  return join(base, "roomhub", `rooms-${port}.json`);
}
