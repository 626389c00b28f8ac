import { execFileSync, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { emptyMachine } from "../../packages/cli/src/service/machine.fixture.ts";
import { makeWorld } from "../../packages/cli/src/test-context.fixture.ts";
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

    test("a scheduled task is XML in the task scheduler's namespace", async () => {
      const machine = emptyMachine("win32");
      const world = makeWorld({ serviceHost: async () => machine });
      expect(await world.run("service", "install", "serve", "--host", "<&>", "--print")).toBe(0);
      const script =
        "import sys, xml.dom.minidom as m; d = m.parseString(sys.stdin.buffer.read().decode().replace('UTF-16', 'UTF-8')); print(d.documentElement.namespaceURI, d.getElementsByTagName('Arguments')[0].firstChild.data)";
      const printed = python(script, world.stdout.text);
      expect(printed).toMatch(/^http:\/\/schemas\.microsoft\.com\/windows\/2004\/02\/mit\/task /);
      expect(printed).toMatch(/ serve --host <&>$/);
    });
  },
);

function python(script: string, input: string): string {
  return execFileSync("python3", ["-c", script], { input, encoding: "utf8" }).trim();
}

function isInstalled(command: string, flag: string): boolean {
  return spawnSync(command, [flag]).status === 0;
}

function because(command: string, flag: string): string {
  return isInstalled(command, flag) ? "" : ` (skipped: ${command} is not installed)`;
}
