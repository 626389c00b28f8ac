import { readFile, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { hostname, networkInterfaces, userInfo } from "node:os";
import { text } from "node:stream/consumers";
import { RoomhubClient } from "@roomhub/client";
import type { CliContext, Terminal } from "./context.ts";
import { readSecretFile } from "./cluster/secret-file.ts";
import { commandNameOf } from "./command-name.ts";
import { dropEmptyVariables } from "./environment.ts";
import { isInForeground } from "./terminal/foreground.ts";
import { readKeys } from "./terminal/keyboard.ts";
import { readDefaultGateways } from "./hosting/default-gateways.ts";
import { findLanAddresses } from "./hosting/lan-addresses.ts";
import { mdns } from "./hosting/mdns.ts";
import { openBrowser } from "./monitor/open-browser.ts";
import { openRecording } from "./record/recording.ts";
import { readLines } from "./report/read-lines.ts";
import { runRoomhub } from "./program.ts";
import { notifyDesktop } from "./sharing/desktop-notifier.ts";
import { promptsAt } from "./terminal/prompts.ts";
import {
  createHandout,
  createHub,
  createParticipant,
  importRooms,
  openDirectory,
  openRoomStore,
  machineSecretOf,
  clientKeys,
  hostTokens,
  participantTokens,
  readStateFile,
  sendMetrics,
  serveMetrics,
  serveMonitor,
  usualStatePath,
} from "./services.ts";

const packageFile = new URL("../package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };

dropEmptyVariables(process.env);

const stdin: MaybeTerminal<typeof process.stdin> = process.stdin;
const context: CliContext = {
  stdout: terminal(process.stdout),
  stderr: terminal(process.stderr),
  isStdinTTY: stdin.isTTY === true && isInForeground(),
  readStdin: () => text(process.stdin),
  readFile: (path) => readFile(path, "utf8"),
  createFile: (path, text) => writeFile(path, text, { flag: "wx", mode: 0o600 }),
  env: process.env,
  addVariablesFrom: async (path) => {
    const { readSecrets } = await import("./service/read-secrets.ts");
    Object.assign(process.env, { ...(await readSecrets(path)), ...process.env });
  },
  version,
  commandName: commandNameOf(import.meta.url),
  platform: process.platform,
  userName: userName(),
  hostName: hostname(),
  lanAddresses: () => findLanAddresses(networkInterfaces()),
  defaultGateways: readDefaultGateways,
  hasIpv6: Object.values(networkInterfaces()).some((infos) =>
    infos?.some(({ family }) => family === "IPv6"),
  ),
  nowMs: Date.now,
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  fetch: (url, init) => fetch(url, init),
  createClient: (hubUrl) => new RoomhubClient({ hubUrl }),
  createHub,
  createHandout,
  openRoomStore,
  usualStatePath,
  openDirectory,
  readStateFile,
  importRooms,
  readSecretFile,
  clientKeys,
  hostTokens,
  participantTokens,
  machineSecretOf,
  createParticipant,
  mdns,
  openRecording,
  readLines,
  sendMetrics,
  serveMetrics,
  serveMonitor,
  openBrowser,
  notifyDesktop,
  serviceHost: async () => (await import("./service/this-machine.ts")).thisMachine,
  prompts: promptsAt(process.stdin, process.stderr, { interrupt, suspend, isInForeground }),
  onKey: (listener, screen) => {
    const suspendBeside = async () => {
      screen?.leave();
      await suspend();
      if (isInForeground()) screen?.enter();
    };
    const terminalKeys = { interrupt, suspend: suspendBeside, isInForeground };
    return readKeys(process.stdin, terminalKeys, listener);
  },
  onStopSignal: (listener) => {
    process.on("SIGINT", listener).on("SIGTERM", listener).on("SIGHUP", listener);
    return () => {
      process.off("SIGINT", listener).off("SIGTERM", listener).off("SIGHUP", listener);
    };
  },
  exitNow: (code) => process.exit(code),
};

// A reader that closes the pipe early (`roomhub events | head`) is not a failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
}

// A leaked handle must not keep a finished command alive, and pending output must still be written.
const exitCode = await runRoomhub(process.argv.slice(2), context);
process.stdout.write("", () => process.stderr.write("", () => process.exit(exitCode)));

/** Node leaves `isTTY` undefined for a pipe, contrary to its types. */
type MaybeTerminal<Stream> = Omit<Stream, "isTTY"> & { isTTY?: boolean };

function terminal(stream: MaybeTerminal<NodeJS.WriteStream>): Terminal {
  return {
    write: (text) => stream.write(text),
    isTTY: stream.isTTY ?? false,
    get columns() {
      // A pseudo-terminal without a size reports 0.
      return stream.isTTY && stream.columns > 0 ? stream.columns : undefined;
    },
    get rows() {
      return stream.isTTY && stream.rows > 0 ? stream.rows : undefined;
    },
  };
}

function interrupt(): void {
  process.emit("SIGINT", "SIGINT");
}

/** Stops the whole process group, as the terminal does. */
function suspend(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGCONT", () => resolve());
    process.kill(0, "SIGTSTP");
  });
}

/** In containers a user id may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "someone";
  }
}
