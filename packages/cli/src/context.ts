import type { Fetch } from "@roomhub/client";
import type * as capabilities from "./capabilities.ts";
import type { Prompts } from "./terminal/prompts.ts";
import type { SuspendedScreen, Terminal } from "./terminal/terminal.ts";

export type { Terminal } from "./terminal/terminal.ts";

type Capabilities = typeof capabilities;

/** A command's dependencies on the outside. `main.ts` creates the real ones, tests pass others. */
export interface CliContext extends Capabilities {
  /** Data, for pipes. */
  stdout: Terminal;
  /** Text for people. */
  stderr: Terminal;
  /** Whether stdin is a terminal in the foreground. */
  isStdinTTY: boolean;
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  /** How to run this program: `roomhub`, in a checkout `npx roomhub`. */
  commandName: string;
  platform: NodeJS.Platform;
  userName: string;
  hostName: string;
  hasIpv6: boolean;
  fetch: Fetch;
  /** For use only where prompts are possible. */
  prompts: Prompts;
  /**
   * Calls back for each key, without Enter, when stdin is a terminal; the result restores the terminal.
   *
   * @param screen - left while Ctrl+Z suspends the program
   */
  onKey: (listener: (key: string) => void, screen?: SuspendedScreen) => () => void;
}
