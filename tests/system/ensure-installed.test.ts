import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";

const script = join(import.meta.dirname, "../../scripts/ensure-installed.mjs");
const locked = {
  "": { version: "0.1.0" },
  "packages/cli": { version: "0.1.0", dependencies: { ws: "^8.0.0" } },
  "node_modules/roomhub": { resolved: "packages/cli", link: true },
  "node_modules/ws": { version: "8.1.0" },
  "node_modules/other-platform": { version: "1.0.0", optional: true },
};

test.skipIf(process.platform === "win32").each([
  ["nothing is installed", undefined, true],
  ["a package has another version", { ...locked, "node_modules/ws": { version: "8.0.0" } }, true],
  [
    "a workspace is new",
    { "packages/cli": { version: "0.1.0" }, "node_modules/ws": locked["node_modules/ws"] },
    true,
  ],
  [
    "only what a workspace needs has changed",
    { ...locked, "packages/cli": { version: "0.1.0" }, "node_modules/other-platform": undefined },
    false,
  ],
])("npm start installs only what is missing: %s", (_what, installed, isRun) => {
  const root = mkdtempSync(join(tmpdir(), "roomhub-installed-"));
  try {
    mkdirSync(join(root, "scripts"));
    mkdirSync(join(root, "node_modules"));
    mkdirSync(join(root, "bin"));
    copyFileSync(script, join(root, "scripts", "ensure-installed.mjs"));
    writeFileSync(join(root, "bin", "npm"), "#!/bin/sh\necho npm $1 >&2\n", { mode: 0o755 });
    if (installed !== undefined) {
      const path = join(root, "node_modules", ".package-lock.json");
      writeLockfile(path, installed);
      // Older than the lockfile.
      utimesSync(path, 0, 0);
    }
    writeLockfile(join(root, "package-lock.json"), locked);
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(root, "scripts", "ensure-installed.mjs")],
      {
        encoding: "utf8",
        env: { PATH: `${join(root, "bin")}${delimiter}${process.env["PATH"] ?? ""}` },
      },
    );
    expect(status).toBe(0);
    expect(stderr.includes("npm ci\n")).toBe(isRun);
  } finally {
    rmSync(root, { recursive: true });
  }
});

function writeLockfile(path: string, packages: object): void {
  writeFileSync(path, JSON.stringify({ packages }));
}
