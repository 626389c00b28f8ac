import { readFileSync } from "node:fs";
import { hostname, networkInterfaces, userInfo } from "node:os";
import * as capabilities from "./capabilities.ts";
import type { OutsideContext, Terminal } from "./context.ts";
import { commandNameOf } from "./command-name.ts";
import { dropEmptyVariables } from "./environment.ts";
import { isInForeground, readKeys } from "./terminal/keyboard.ts";
import { runRoomhub } from "./program.ts";
import { promptsAt } from "./terminal/prompts.ts";

const packageFile = new URL("../package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };

dropEmptyVariables(process.env);

const stdin: MaybeTerminal<typeof process.stdin> = process.stdin;
const context: OutsideContext = {
  ...capabilities,
  stdout: terminal(process.stdout),
  stderr: terminal(process.stderr),
  isStdinTTY: stdin.isTTY === true && isInForeground(),
  env: process.env,
  version,
  commandName: await commandNameOf(import.meta.url),
  platform: process.platform,
  userName: userName(),
  hostName: hostname(),
  hasIpv6: Object.values(networkInterfaces()).some((infos) =>
    infos?.some(({ family }) => family === "IPv6"),
  ),
  fetch: (url, init) => fetch(url, init),
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
};

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
