import type { Fetch, RoomhubClient } from "@roomhub/client";
import type { LanAddress } from "./hosting/lan-addresses.ts";
import type { Mdns } from "./hosting/mdns.ts";
import type { ParticipantTokens } from "./sharing/participant-tokens.ts";
import type { Prompts } from "./terminal/prompts.ts";
import type { CreateHub, CreateParticipant, OpenRoomStore, UsualStatePath } from "./services.ts";

/** One of the two output streams. */
export interface Terminal {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Cells in a line, as of now; undefined when it is no terminal. */
  readonly columns: number | undefined;
}

/** The SDK's methods; a test brings an object with the ones it needs. */
export type Client = Pick<RoomhubClient, keyof RoomhubClient>;

/** Everything a command takes from the outside. `main.ts` makes the real one, tests make theirs. */
export interface CliContext {
  /** Data: what a pipe wants. */
  stdout: Terminal;
  /** Text for people. */
  stderr: Terminal;
  /** Somebody can type there. */
  isStdinTTY: boolean;
  readStdin: () => Promise<string>;
  readFile: (path: string) => Promise<string>;
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  /** How this program is called from here: `roomhub`, in a checkout `npx roomhub`. */
  commandName: string;
  userName: string;
  hostName: string;
  lanAddresses: () => LanAddress[];
  hasIpv6: boolean;
  nowMs: () => number;
  /** Calls back once, ms from now; the result cancels it. */
  after: (ms: number, callback: () => void) => () => void;
  fetch: Fetch;
  createClient: (hubUrl: string) => Client;
  createHub: CreateHub;
  openRoomStore: OpenRoomStore;
  usualStatePath: UsualStatePath;
  /** The tokens of participants that were added from here. */
  participantTokens: () => Promise<ParticipantTokens>;
  createParticipant: CreateParticipant;
  mdns: Mdns;
  /** Only to be used where somebody can answer. */
  prompts: Prompts;
  /** Calls back for each key, without Enter, when stdin is a terminal; the result gives the terminal back. */
  onKey: (listener: (key: string) => void) => () => void;
  /** Calls back on SIGINT and SIGTERM; the result stops listening. */
  onStopSignal: (listener: () => void) => () => void;
  /** Ends the process without waiting for anything. */
  exitNow: (code: number) => void;
}
