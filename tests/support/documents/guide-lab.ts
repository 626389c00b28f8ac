import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { HubOptions } from "@roomhub/hub";
import { expect } from "vitest";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.ts";
import { root } from "./guide.ts";
import { joinTunnel } from "../hub/joining.ts";
import { type Program, startProgram } from "../programs/program.ts";
import { runCommand } from "../programs/run-command.ts";
import { startTestHub, type TestHub } from "../hub/start-test-hub.ts";
import { temporaryFolder } from "../programs/temporary-folder.ts";

/** What the guides' `$YOUR_API_KEY` is here. */
export const cloudKey = "very-secret";

/** Where guides are followed: a room with a model of this machine, in place of the one they speak of. */
export interface GuideLab extends AsyncDisposable {
  readonly hub: TestHub;
  readonly code: string;
  /** the room's URL */
  readonly invite: string;
  /** serves `llama3.2`, and Ben shares it */
  readonly provider: FakeProvider;
  /** stands for `https://api.example.com/v1`: requires the key, is not shared */
  readonly cloud: FakeProvider;
  /** A block with the addresses of this lab in place of its own. */
  here(text: string): string;
  /** Runs shell lines to their end. @returns what they wrote; fails when one fails, or complains */
  shell(text: string): Promise<string>;
  /** The same for lines of which the last runs until it is stopped. */
  start(text: string): Program;
  /** A TypeScript program, among the packages of this checkout. */
  script(source: string): Program;
}

/** @param onHub - what has to be in front of the hub before a join */
export async function openGuideLab(
  options: HubOptions = {},
  onHub?: (hub: TestHub) => Promise<void>,
): Promise<GuideLab> {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub(options));
  await onHub?.(hub);
  const code = await hub.createRoom();
  const provider = stack.use(await startFakeProvider({ model: "llama3.2" }));
  const cloud = stack.use(await startFakeProvider({ model: "big-1", apiKey: cloudKey }));
  const ben = { id: "ben", nickname: "Ben", model: "llama3.2" };
  stack.use(await joinTunnel(hub, code, { ...ben, endpoint: provider.url }));
  const folder = stack.use(await temporaryFolder());
  const invite = `${hub.url}/rooms/${code}`;
  const env: Record<string, string> = {
    YOUR_API_KEY: cloudKey,
    // The only model server that is found, and nothing of this machine's own.
    OLLAMA_HOST: `127.0.0.1:${provider.port}`,
    XDG_STATE_HOME: folder.path,
    ROOMHUB_MDNS: "0",
  };

  const here = (text: string) =>
    text
      .replaceAll(/http:\/\/192\.168\.1\.5:5050\/rooms\/\w+/g, invite)
      .replaceAll("http://192.168.1.5:5050", hub.url)
      .replaceAll(/\b(?:ABC234|6428HG)\b/g, code)
      .replaceAll("https://api.example.com/v1", cloud.url);

  const owned = stack.move();
  return {
    hub,
    code,
    invite,
    provider,
    cloud,
    here,
    async shell(text) {
      const lines = ["set -e", exports(env), commands(""), here(text)];
      const { exitCode, stdout, stderr } = await runCommand("bash", ["-c", lines.join("\n")]);
      expect([exitCode, stderr], `${text}\n${stdout}`).toEqual([0, ""]);
      return stdout;
    },
    start: (text) => startProgram("bash", ["-c", `${commands("exec ")}\n${here(text)}`], env),
    script: (source) =>
      startProgram(process.execPath, [
        ...["--conditions=@roomhub/source", "--input-type=module-typescript"],
        ...["--eval", source],
      ]),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** In place of the published command, this checkout's, as one process that can be stopped; and `curl` that reports errors. */
function commands(run: "" | "exec "): string {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    scripts: { start: string };
  };
  return `cd '${root}'
node() { ${run === "" ? "command " : run}'${process.execPath}' "$@"; }
npx() { shift; node --conditions=@roomhub/source packages/cli/src/bin.ts "$@"; }
npm() { shift; if [ "$1" = -- ]; then shift; fi; ${scripts.start.replace("node packages/cli/bin/roomhub.js", "npx roomhub")} "$@"; }
curl() { ${run === "" ? "command " : run}curl --silent --show-error --fail-with-body "$@"; }`;
}

function exports(env: Record<string, string>): string {
  return Object.entries(env)
    .map(([name, value]) => `export ${name}='${value}'`)
    .join("\n");
}
