import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { emptyMachine } from "../../packages/cli/src/service/machine.fixture.ts";
import { makeWorld } from "../../packages/cli/src/test-context.fixture.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { until } from "../support/waiting.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";

const awkward = String.raw`{"gpu":"50% of $HOME & ${"${HOME}"} <\"x\"> \\ é"}`;
const words = ["service", "install", "join", "ABC234", "--specs", awkward, "--print"];

/** The unit of a service whose program is this Node, so that the paths in it exist. */
async function unitFor(platform: string): Promise<string> {
  const program = [process.execPath, import.meta.filename] as const;
  const machine = { ...emptyMachine(platform), program, homeFolder: "/tmp" };
  const world = makeWorld({ serviceHost: async () => machine });
  expect(await world.run(...words)).toBe(0);
  return world.stdout.text;
}

describe.skipIf(!isInstalled("systemd-analyze", "--version"))(
  `a systemd unit${because("systemd-analyze", "--version")}`,
  () => {
    test("has nothing that systemd-analyze objects to", async () => {
      await using folder = await temporaryFolder();
      const path = join(folder.path, "roomhub-join.service");
      await writeFile(path, await unitFor("linux"));
      const { status, stdout, stderr } = spawnSync(
        "systemd-analyze",
        ["--user", "--man=no", "verify", path],
        { encoding: "utf8", env: { ...process.env, XDG_RUNTIME_DIR: folder.path } },
      );
      const own = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("roomhub-join"));
      expect(own).toEqual([]);
      expect(status).toBe(0);
    });

    test("with a mistake in it is what systemd-analyze objects to", async () => {
      await using folder = await temporaryFolder();
      const path = join(folder.path, "roomhub-join.service");
      await writeFile(path, (await unitFor("linux")).replace("Restart=", "Restarts="));
      const { stderr } = spawnSync("systemd-analyze", ["--user", "--man=no", "verify", path], {
        encoding: "utf8",
        env: { ...process.env, XDG_RUNTIME_DIR: folder.path },
      });
      expect(stderr).toContain("Restarts");
    });
  },
);

describe.skipIf(!isInstalled("python3", "--version"))(
  `units in XML${because("python3", "--version")}`,
  () => {
    test("a launchd agent is a property list whose arguments are those of the command line", async () => {
      const script =
        "import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
      const list = JSON.parse(python(script, await unitFor("darwin"))) as Record<string, unknown>;
      expect(list).toMatchObject({ Label: "roomhub.join", RunAtLoad: true, ExitTimeOut: 90 });
      const [, , secretsFile, ...args] = list["ProgramArguments"] as string[];
      expect(secretsFile).toBe("--secrets-file=/state/services/join.env");
      expect(args).toEqual(["join", "ABC234", "--specs", awkward]);
    });
  },
);

describe.skipIf(process.platform !== "linux")("a service that was installed", () => {
  test("starts a hub with its variables, from files that no one else can read", async () => {
    await using lab = await installedService({ ROOMHUB_PORT: "0", MINE: "tuna" });
    const { mode } = await stat(lab.secretsFile);
    const folder = await stat(dirname(lab.secretsFile));
    expect([mode & 0o777, folder.mode & 0o777]).toEqual([0o600, 0o700]);
    const [, ...kept] = (await readFile(lab.secretsFile, "utf8")).split("\n");
    expect(kept).toEqual(["ROOMHUB_PORT='0'", ""]);
    expect(lab.systemctl()).toEqual([
      "--user daemon-reload",
      "--user enable roomhub-serve.service",
      "--user restart roomhub-serve.service",
    ]);
    const [command, ...args] = lab.commandLine;
    await using hub = startRoomhub(args, { HOME: lab.home }, "text", [command]);
    await until(
      "its address",
      async () => hub.output,
      (text) => /ready at (http\S+)/.test(text),
    );
    const [, url = ""] = /ready at (http\S+)/.exec(hub.output) ?? [];
    // A free port, which the variable says, and not the usual one.
    expect(new URL(url).port).not.toBe("5050");
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  test("refuses to start when others can read its secrets", async () => {
    await using lab = await installedService({});
    await chmod(lab.secretsFile, 0o640);
    const [command, ...args] = lab.commandLine;
    const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
    expect(status).toBe(2);
    expect(stderr).toContain(`Run: chmod 600 ${lab.secretsFile}`);
  });
});

interface InstalledService extends AsyncDisposable {
  home: string;
  secretsFile: string;
  /** of its unit */
  commandLine: [string, ...string[]];
  /** what systemctl was run with, one line each */
  systemctl: () => string[];
}

/** `service install serve` as it is run, with a systemctl that records what it is run with. */
async function installedService(env: Record<string, string>): Promise<InstalledService> {
  const folder = await temporaryFolder();
  const home = folder.path;
  const calls = join(home, "calls");
  await writeFile(join(home, "systemctl"), `#!/bin/sh\necho "$@" >> ${calls}\n`, { mode: 0o755 });
  const args = ["serve", "--ephemeral", "--no-mdns"];
  const launcher = fileURLToPath(new URL("../../packages/cli/bin/roomhub.js", import.meta.url));
  const { status, stderr } = spawnSync(
    process.execPath,
    [launcher, "service", "install", ...args],
    {
      encoding: "utf8",
      env: { PATH: `${home}:${process.env["PATH"] ?? ""}`, HOME: home, ...env },
    },
  );
  expect([status, stderr]).toEqual([0, expect.stringContaining("is installed and started")]);
  const unitFile = join(home, ".config/systemd/user/roomhub-serve.service");
  const unit = readFileSync(unitFile, "utf8");
  const line = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? "";
  const words = [...line.matchAll(/"([^"]*)"/g)].map(([, word = ""]) => word);
  return {
    home,
    secretsFile: join(home, ".local/state/roomhub/services/serve.env"),
    commandLine: words as [string, ...string[]],
    systemctl: () => readFileSync(calls, "utf8").trim().split("\n"),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

function python(script: string, input: string): string {
  return execFileSync("python3", ["-c", script], { input, encoding: "utf8" }).trim();
}

function isInstalled(command: string, flag: string): boolean {
  return spawnSync(command, [flag]).status === 0;
}

function because(command: string, flag: string): string {
  return isInstalled(command, flag) ? "" : ` (skipped: ${command} is not installed)`;
}
