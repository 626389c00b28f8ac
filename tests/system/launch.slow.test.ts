import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join as joinPath } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { type Program, startProgram } from "../support/programs/program.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { startAgentModel } from "../support/providers/agent-model.ts";
import { until } from "../support/waiting.ts";

const source = fileURLToPath(new URL("../../packages/cli/src/bin.ts", import.meta.url));
/** Without the launcher, so that a signal reaches the command itself. */
const roomhub = ["--conditions=@roomhub/source", "--disable-warning=ExperimentalWarning", source];

/** In place of Qwen Code: says what it was started with, then ends as its first argument says, or by a signal. */
const program = `#!${process.execPath}
const { readFileSync } = require("node:fs");
const path = process.env.QWEN_CODE_SYSTEM_SETTINGS_PATH;
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(signal === "SIGINT" ? 40 : 41));
const [end] = process.argv.slice(2);
const seen = { path, settings: readFileSync(path, "utf8"), pid: process.pid, parent: process.ppid };
process.stdout.write("seen " + JSON.stringify(seen) + "\\n", () => {
  if (end === "wait") setInterval(() => {}, 1000);
  else process.exit(Number(end));
});
`;

const ownSettings = `{ "ui": {"theme": "mine"},\n  "model": {"name": "gpt-4"} }\n`;

/** A room with a model, and a user who has Qwen Code and settings for it. */
async function lab() {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startAgentModel(65_536));
  const hub = stack.use(await startTestHub());
  const code = await hub.createRoom();
  stack.use(await joinTunnel(hub, code, { endpoint: model.url, model: "qwen3-coder:30b" }));
  const folder = stack.use(await temporaryFolder()).path;
  const place = (name: string) => joinPath(folder, name);
  for (const name of ["bin", "tmp", "state"]) mkdirSync(place(name));
  writeFileSync(place("bin/qwen"), program);
  chmodSync(place("bin/qwen"), 0o755);
  writeFileSync(place("own.json"), ownSettings);
  const env = {
    PATH: [place("bin"), process.env["PATH"]].join(delimiter),
    TMPDIR: place("tmp"),
    XDG_STATE_HOME: place("state"),
    QWEN_CODE_SYSTEM_SETTINGS_PATH: place("own.json"),
  };
  const owned = stack.move();
  return {
    /** Resolves when the program runs. */
    async launch(end: string) {
      const args = ["launch", "qwen", `${hub.url}/rooms/${code}`, "--", end];
      const launched = startProgram(process.execPath, [...roomhub, ...args], env);
      await launched.says(/^seen .*\n/m);
      return { launched, ...seenBy(launched) };
    },
    ownSettings: () => readFileSync(place("own.json"), "utf8"),
    folders: () => readdirSync(place("tmp")),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function seenBy({ output }: Program) {
  const [, json = ""] = /^seen (.*)$/m.exec(output) ?? [];
  return JSON.parse(json) as { path: string; settings: string; pid: number; parent: number };
}

test("a program finds the user's settings with the room in them, and the user's file stays as it is", async () => {
  await using one = await lab();
  const { launched, path, settings } = await one.launch("wait");
  await using _ = launched;
  expect(JSON.parse(settings)).toMatchObject({
    ui: { theme: "mine" },
    model: { name: "qwen3-coder:30b" },
    security: { auth: { selectedType: "openai" } },
  });
  expect(path).toContain("roomhub-launch-");
  expect(await launched.stop("SIGTERM")).toBe(41);
  expect(one.ownSettings()).toBe(ownSettings);
  expect(one.folders()).toEqual([]);
});

test("its exit code is the command's, and SIGINT without a terminal reaches it", async () => {
  await using one = await lab();
  const { launched } = await one.launch("7");
  expect(await launched.ended()).toBe(7);
  const waiting = await one.launch("wait");
  expect(await waiting.launched.stop("SIGINT")).toBe(40);
  expect(one.folders()).toEqual([]);
});

test("what a killed launch leaves is removed by the next one, but not while its program runs", async () => {
  await using one = await lab();
  const killed = await one.launch("wait");
  await using _ = { [Symbol.asyncDispose]: async () => void process.kill(killed.pid, "SIGKILL") };
  process.kill(killed.parent, "SIGKILL");
  expect(one.ownSettings()).toBe(ownSettings);
  // Of a process that has ended: nothing says whether the killed one has been reaped.
  const { pid } = spawnSync(process.execPath, ["--version"]);
  const left = joinPath(dirname(dirname(killed.path)), `roomhub-launch-${pid}-left`);
  mkdirSync(left);
  writeFileSync(joinPath(left, ".running"), String(pid));
  await until(
    "the end of the killed one",
    () => isAlive(killed.parent),
    (alive) => !alive,
  );
  const { launched } = await one.launch("0");
  await launched.ended();
  expect(existsSync(left)).toBe(false);
  expect(existsSync(killed.path)).toBe(true);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
