import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packPackage } from "../../packages/cli/src/handout/pack.ts";

const script = fileURLToPath(new URL("../../scripts/bundle/build.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "roomhub-bundle-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Built {
  file: string;
  bytes: number;
  sha512: string;
}

interface Sbom {
  bomFormat: string;
  metadata: { component: { purl: string } };
  components: { name: string; version: string; purl: string; licenses: object[] }[];
}

describe("the package that hubs hand out", () => {
  let built: Built;
  const path = (...names: string[]) => join(folder, "one", "roomhub", ...names);
  const read = (...names: string[]) => readFileSync(path(...names), "utf8");
  beforeAll(() => {
    built = build("one", {});
  }, 120_000);

  test("has the same bytes wherever and whenever it is built", () => {
    const other = build("two", { TZ: "Pacific/Auckland", LANG: "tr_TR.UTF-8" });
    expect(other.sha512).toBe(built.sha512);
  });

  test("is small enough for a slow network: 700 KB with the monitor and the SDK", () => {
    expect(built.bytes).toBeLessThanOrEqual(700_000);
    const { files } = JSON.parse(read("contents.json")) as { files: string[] };
    const rest = files
      .filter((name) => !/^dist\/(?:monitor-page|sdk)\//.test(name))
      .map((name) => ({ path: name, body: readFileSync(path(name)) }));
    expect(packPackage(rest).length).toBeLessThanOrEqual(mostOfProgram);
  });

  test("needs no other package, and says what is inside", () => {
    const manifest = JSON.parse(read("package.json")) as Record<string, unknown>;
    expect(manifest).toMatchObject({ name: "roomhub", bin: { roomhub: "bin/roomhub.js" } });
    const { node } = manifest["engines"] as { node: string };
    expect(read("bin", "roomhub.js")).toContain(`needs Node ${node.replace(">=", "")} or newer`);
    expect(manifest).not.toHaveProperty("dependencies");
    expect(manifest).not.toHaveProperty("scripts");
    const licences = read("THIRD_PARTY.md");
    for (const name of ["zod", "ws", "commander", "find-my-way", "pino", "preact", "fflate"]) {
      expect(licences).toMatch(new RegExp(`^- ${name} \\d`, "m"));
    }
  });

  test("lists its packages as CycloneDX, the same ones as with their licences", () => {
    const sbom = readFileSync(join(folder, "one", "sbom.cdx.json"), "utf8");
    expect(readFileSync(join(folder, "two", "sbom.cdx.json"), "utf8")).toBe(sbom);
    const { bomFormat, metadata, components } = JSON.parse(sbom) as Sbom;
    expect(bomFormat).toBe("CycloneDX");
    expect(metadata.component.purl).toMatch(/^pkg:npm\/roomhub@\d/);
    const named = [...read("THIRD_PARTY.md").matchAll(/^- (\S+) (\S+)$/gm)];
    expect(components.map(({ name, version }) => `${name} ${version}`).toSorted()).toEqual(
      named.map(([, name, version]) => `${name} ${version}`).toSorted(),
    );
    for (const { purl, licenses } of components) {
      expect(purl).toMatch(/^pkg:npm\/(?:%40[\w.-]+\/)?[\w.-]+@\d[\w.+-]*$/);
      expect(licenses).toHaveLength(1);
    }
  });

  test("prints its version in at most 1.3 times the time that Node takes to start", () => {
    const program = path("bin", "roomhub.js");
    // The least of each: what else runs on the machine only adds, so a busy one is measured longer.
    let [bareMs, versionMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let run = 0; run < 15 || (run < 100 && versionMs > 1.3 * bareMs); run++) {
      bareMs = Math.min(bareMs, timeOf("-e", "0"));
      versionMs = Math.min(versionMs, timeOf(program, "--version"));
    }
    expect(versionMs).toBeLessThanOrEqual(1.3 * bareMs);
  });
});

/** 597 KB and some room: most of it is the hub, the NATS client, zod, ws and pino; HTTPS, certificates and pins are 7 KB of it, `batch` and `open` some 20; `launch` with cross-spawn and `bench` are loaded by themselves. */
const mostOfProgram = 610_000;

function build(name: string, env: Record<string, string>): Built {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@roomhub/source", script, join(folder, name)],
    { encoding: "utf8", cwd: folder, env: { ...process.env, ...env } },
  );
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Built;
}

function timeOf(...args: string[]): number {
  const startMs = performance.now();
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const ms = performance.now() - startMs;
  if (status !== 0) throw new Error(stdout);
  return ms;
}
