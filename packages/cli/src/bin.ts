import { readFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { networkInterfaces, userInfo } from "node:os";
import { text } from "node:stream/consumers";
import { RoomhubClient } from "@roomhub/client";
import type { CliContext, Terminal } from "./context.ts";
import { dropEmptyVariables } from "./environment.ts";
import { findLanAddresses } from "./lan-addresses.ts";
import { runRoomhub } from "./program.ts";
import { createHub, createParticipant, openRoomStore, usualStatePath } from "./services.ts";

const packageFile = new URL("../package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };

dropEmptyVariables(process.env);

const context: CliContext = {
  stdout: terminal(process.stdout),
  stderr: terminal(process.stderr),
  isStdinTTY: process.stdin.isTTY,
  readStdin: () => text(process.stdin),
  readFile: (path) => readFile(path, "utf8"),
  env: process.env,
  version,
  commandName: import.meta.url.endsWith(".ts") ? "npx roomhub" : "roomhub",
  userName: userName(),
  lanAddresses: () => findLanAddresses(networkInterfaces()),
  hasIpv6: Object.values(networkInterfaces()).some((infos) =>
    infos?.some(({ family }) => family === "IPv6"),
  ),
  nowMs: Date.now,
  fetch: (url, init) => fetch(url, init),
  createClient: (hubUrl) => new RoomhubClient({ hubUrl }),
  createHub,
  openRoomStore,
  usualStatePath,
  createParticipant,
  onStopSignal: (listener) => {
    process.on("SIGINT", listener).on("SIGTERM", listener).on("SIGHUP", listener);
    return () => {
      process.off("SIGINT", listener).off("SIGTERM", listener).off("SIGHUP", listener);
    };
  },
  exitNow: (code) => process.exit(code),
};

// A reader that has seen enough (`roomhub events | head`) is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
}

// A handle somebody forgot must not keep a finished command alive; what was written must still arrive.
const exitCode = await runRoomhub(process.argv.slice(2), context);
process.stdout.write("", () => process.stderr.write("", () => process.exit(exitCode)));

function terminal(stream: NodeJS.WriteStream): Terminal {
  return { write: (text) => stream.write(text), isTTY: stream.isTTY };
}

/** Containers run under user numbers without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "someone";
  }
}
