import type { Fetch, RoomhubClient } from "@roomhub/client";
import type { LanAddress } from "./hosting/lan-addresses.ts";
import type { ServeMetrics } from "./metrics/metrics-server.ts";
import type { SendMetrics } from "./metrics/otlp-sender.ts";
import type { Mdns } from "./hosting/mdns.ts";
import type { MachineSecretOf } from "./sharing/machine-secret.ts";
import type { OpenRecording } from "./record/recording.ts";
import type { ReadLines } from "./report/read-lines.ts";
import type { ParticipantTokens } from "./sharing/participant-tokens.ts";
import type { Prompts } from "./terminal/prompts.ts";
import type { CreateHandout } from "./handout/create-handout.ts";
import type { ServeMonitor } from "./monitor/page-server.ts";
import type { ServiceHost } from "./service/service-unit.ts";
import type { SecretFile } from "./cluster/secret-file.ts";
import type {
  CreateHub,
  CreateParticipant,
  ImportRooms,
  OpenDirectory,
  OpenRoomStore,
  ReadStateFile,
  UsualStatePath,
} from "./services.ts";

/** One of the two output streams. */
export interface Terminal {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Current width in cells; undefined when it is not a terminal. */
  readonly columns: number | undefined;
  /** Current height in lines; undefined when it is not a terminal. */
  readonly rows: number | undefined;
}

/** What a program shows beside the lines of the shell. */
export interface SuspendedScreen {
  leave(): void;
  enter(): void;
}

/** The SDK's methods, so that a test can pass a plain object. */
export type Client = Pick<RoomhubClient, keyof RoomhubClient>;

/** A command's dependencies on the outside. `main.ts` creates the real ones, tests create their own. */
export interface CliContext {
  /** Data, for pipes. */
  stdout: Terminal;
  /** Text for people. */
  stderr: Terminal;
  /** Whether stdin is a terminal in the foreground. */
  isStdinTTY: boolean;
  readStdin: () => Promise<string>;
  readFile: (path: string) => Promise<string>;
  /** Writes a file that only this user can read. @throws NodeJS.ErrnoException with EEXIST when it exists */
  createFile: (path: string, text: string) => Promise<void>;
  env: Readonly<Record<string, string | undefined>>;
  /**
   * Adds the variables of a file to `env`; one that is set there already stays.
   *
   * @throws UsageError when the file cannot be read, or others can
   */
  addVariablesFrom: (path: string) => Promise<void>;
  version: string;
  /** How to run this program: `roomhub`, in a checkout `npx roomhub`. */
  commandName: string;
  platform: NodeJS.Platform;
  userName: string;
  hostName: string;
  lanAddresses: () => LanAddress[];
  /** Empty where the system has no route table to read. */
  defaultGateways: () => string[];
  hasIpv6: boolean;
  nowMs: () => number;
  /** Calls back once after `ms`; the result cancels it. */
  after: (ms: number, callback: () => void) => () => void;
  fetch: Fetch;
  createClient: (hubUrl: string) => Client;
  createHub: CreateHub;
  /** What a hub hands out besides its API. */
  createHandout: CreateHandout;
  openRoomStore: OpenRoomStore;
  usualStatePath: UsualStatePath;
  openDirectory: OpenDirectory;
  readStateFile: ReadStateFile;
  importRooms: ImportRooms;
  /** @throws NodeJS.ErrnoException when it cannot be read */
  readSecretFile: (path: string) => Promise<SecretFile>;
  /** The tokens of participants that were added from this machine. */
  participantTokens: () => Promise<ParticipantTokens>;
  /** The host tokens of rooms that were created from this machine. */
  hostTokens: () => Promise<Pick<ParticipantTokens, "save" | "find">>;
  /** The client keys of participants that serve their owner first. */
  clientKeys: () => Promise<Pick<ParticipantTokens, "save">>;
  /** The secret that this user's participants at one base URL have in common. */
  machineSecretOf: MachineSecretOf;
  createParticipant: CreateParticipant;
  mdns: Mdns;
  /** The page that watches a room. */
  serveMonitor: ServeMonitor;
  /** A file that events are kept in. */
  openRecording: OpenRecording;
  /** The lines of a file that may be longer than memory. */
  readLines: ReadLines;
  /** The metrics of rooms, for Prometheus. */
  serveMetrics: ServeMetrics;
  /** The same, for a receiver of OTLP. */
  sendMetrics: SendMetrics;
  openBrowser: (url: string) => void;
  /** Shows a notification on the desktop; resolves to false where this machine has no program for it. */
  notifyDesktop: (text: string) => Promise<boolean>;
  /** What services need of this machine. */
  serviceHost: () => Promise<ServiceHost>;
  /** For use only where prompts are possible. */
  prompts: Prompts;
  /**
   * Calls back for each key, without Enter, when stdin is a terminal; the result restores the terminal.
   *
   * @param screen - left while Ctrl+Z suspends the program
   */
  onKey: (listener: (key: string) => void, screen?: SuspendedScreen) => () => void;
  /** Calls back on SIGINT, SIGTERM and SIGHUP; the result stops listening. */
  onStopSignal: (listener: (signal: NodeJS.Signals) => void) => () => void;
  /** Exits the process immediately. */
  exitNow: (code: number) => void;
}
