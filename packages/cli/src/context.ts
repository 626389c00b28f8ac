import type { Fetch, Invite } from "@roomhub/client";
import type * as capabilities from "./capabilities.ts";
import type { Prompts } from "./terminal/prompts.ts";
import type { SuspendedScreen, Terminal } from "./terminal/terminal.ts";

export type { Terminal } from "./terminal/terminal.ts";

type Capabilities = typeof capabilities;

/** How a command enters closed rooms: requests to them get their keys without it. See `rooms/room-keys.ts`. */
interface RoomKeysOfCommand {
  /**
   * Before the command runs.
   *
   * @param keyFile - of the option `--key-file`
   * @param canAsk - whether the command may ask for a key at the terminal
   * @throws UsageError for a file or a variable without a key
   */
  prepare(keyFile: string | undefined, canAsk: boolean): Promise<void>;
  /** From now on no key is asked for. */
  stopAsking(): void;
  /** Whether the terminal shows the question for a key now. */
  readonly isAsking: boolean;
  /** The key that this command was given in a link, a file, a variable or at stdin; undefined for none. */
  readonly given: string | undefined;
  /** The key of a room: given, or saved at an earlier use; undefined for none. */
  of(room: Invite): Promise<string | undefined>;
  /** Keeps a key for later commands, in a file that only this user can read. A failure is a warning. */
  save(room: Invite, key: string): Promise<void>;
  /** Deletes the saved key of a room that there is no more. */
  forget(room: Invite): Promise<void>;
}

/** The keys of hubs that this command knows. See `tls/pins.ts`. */
interface PinsOfCommand {
  /** The pin of the hub at a URL; undefined for one that authorities vouch for, or plain HTTP. */
  of(url: string): Promise<string | undefined>;
  /** Requires the key of the hub at a URL until this command ends. */
  require(url: string, pin: string): void;
}

/** A command's dependencies on the outside. `main.ts` creates the real ones, tests pass others. */
export interface CliContext extends Capabilities {
  /** Made by `runRoomhub`. */
  roomKeys: RoomKeysOfCommand;
  /** Made by `runRoomhub`. */
  pins: PinsOfCommand;
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

/** What `runRoomhub` needs; it makes the rest. */
export type OutsideContext = Omit<CliContext, "roomKeys" | "pins">;
