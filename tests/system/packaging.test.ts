import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { executableName, PLATFORMS, platformName } from "../../scripts/binary/platform.ts";
import { homebrewFormula } from "../../scripts/packaging/homebrew-formula.ts";
import type { ReleaseFacts } from "../../scripts/packaging/release-facts.ts";
import { wingetManifests } from "../../scripts/packaging/winget-manifests.ts";
import { root } from "../support/documents/guide.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";

const facts: ReleaseFacts = {
  version: "1.2.3",
  description: 'Share "models" #{1 + 1}: \\ open',
  license: "MIT",
  homepage: "https://roomhub.example/",
  downloads: Object.fromEntries(
    PLATFORMS.map((on, index) => [
      platformName(on),
      {
        url: `https://files.example/1.2.3/${executableName("1.2.3", on)}`,
        sha256: String(index).repeat(64),
      },
    ]),
  ),
};

/** What a formula may say at its top, as far as ours does, and what became of it as JSON. */
const formulaReader = `
require "json"
class Formula
  FACTS = {}
  def self.method_missing(name, *args, **options, &block)
    return unless block || args.any?
    if name.start_with?("on_")
      inside = (@inside || []) + [name]
      before, @inside = @inside, inside
      block.call
      @inside = before
    elsif block.nil?
      FACTS[([*(@inside || []), name]).join(".")] = args.first
    end
  end
  def self.respond_to_missing?(*) = true
  def self.test(&) = nil # Kernel has one too
end
load ARGV.fetch(0)
methods = Roomhub.instance_methods(false)
puts JSON.generate(Formula::FACTS.merge("methods" => methods))
`;

const hasRuby = spawnSync("ruby", ["--version"]).status === 0;

describe.skipIf(!hasRuby)(
  `the formula${hasRuby ? "" : " (skipped: ruby is not installed)"}`,
  () => {
    test("is Ruby without a warning, and has each platform's file with its hash", async () => {
      await using folder = await temporaryFolder();
      const path = join(folder.path, "roomhub.rb");
      await writeFile(path, homebrewFormula(facts));
      const checked = spawnSync("ruby", ["-wc", path], { encoding: "utf8" });
      expect([checked.status, checked.stderr]).toEqual([0, ""]);
      const printed = execFileSync("ruby", ["-e", formulaReader, path], { encoding: "utf8" });
      expect(JSON.parse(printed)).toEqual({
        desc: facts.description,
        homepage: facts.homepage,
        version: facts.version,
        license: facts.license,
        ...fileFacts("on_macos.on_arm", "darwin-arm64"),
        ...fileFacts("on_macos.on_intel", "darwin-x64"),
        ...fileFacts("on_linux.on_arm", "linux-arm64"),
        ...fileFacts("on_linux.on_intel", "linux-x64"),
        methods: ["install"],
      });
    });
  },
);

function fileFacts(block: string, platform: string): Record<string, string | undefined> {
  const { url, sha256 } = facts.downloads[platform] ?? {};
  return { [`${block}.url`]: url, [`${block}.sha256`]: sha256 };
}

/** The rules of winget's schemas, version 1.6.0, for the fields that are written. */
const common = {
  PackageIdentifier: z.string().regex(/^[^.\s\\/:*?"<>|]{1,32}(?:\.[^.\s\\/:*?"<>|]{1,32}){1,7}$/),
  PackageVersion: z.string().regex(/^[^\\/:*?"<>|]+$/),
  ManifestVersion: z.literal("1.6.0"),
};
const schemas: Record<string, z.ZodType> = {
  "Roomhub.Roomhub.yaml": z.strictObject({
    ...common,
    DefaultLocale: z.literal("en-US"),
    ManifestType: z.literal("version"),
  }),
  "Roomhub.Roomhub.installer.yaml": z.strictObject({
    ...common,
    InstallerType: z.literal("portable"),
    Commands: z.array(z.string().min(1).max(40)).max(16),
    UpgradeBehavior: z.enum(["install", "uninstallPrevious", "deny"]),
    Installers: z
      .array(
        z.strictObject({
          Architecture: z.enum(["x86", "x64", "arm", "arm64", "neutral"]),
          InstallerUrl: z.url({ protocol: /^https?$/ }).max(2048),
          InstallerSha256: z.string().regex(/^[A-Fa-f0-9]{64}$/),
        }),
      )
      .min(1),
    ManifestType: z.literal("installer"),
  }),
  "Roomhub.Roomhub.locale.en-US.yaml": z.strictObject({
    ...common,
    PackageLocale: z.literal("en-US"),
    Publisher: z.string().min(2).max(256),
    PackageName: z.string().min(2).max(256),
    PackageUrl: z.url({ protocol: /^https?$/ }),
    License: z.string().min(3).max(512),
    ShortDescription: z.string().min(3).max(256),
    Moniker: z.string().min(1).max(40),
    Tags: z.array(z.string().min(1).max(40)).max(16),
    ManifestType: z.literal("defaultLocale"),
  }),
};

test("the winget manifests follow winget's schemas, and name the same version", () => {
  const manifests = wingetManifests({ ...facts, description: "Share models" });
  expect(Object.keys(manifests)).toEqual(Object.keys(schemas));
  for (const [name, text] of Object.entries(manifests)) {
    const manifest = parse(text) as { PackageVersion: unknown };
    expect(schemas[name]?.safeParse(manifest).error, name).toBeUndefined();
    expect(manifest.PackageVersion).toBe("1.2.3");
  }
  expect(manifests["Roomhub.Roomhub.installer.yaml"]).toContain(
    `InstallerUrl: ${facts.downloads["win32-x64"]?.url}\n`,
  );
});

test("a version that YAML reads as a number stays text", () => {
  const { "Roomhub.Roomhub.yaml": text = "" } = wingetManifests({ ...facts, version: "1.0" });
  expect(parse(text)).toMatchObject({ PackageVersion: "1.0" });
});

test("both are written from the executables of one folder, with sums that sha256sum accepts", async () => {
  await using folder = await temporaryFolder();
  const { version, description } = readJson("packages/cli/package.json") as {
    version: string;
    description: string;
  };
  await mkdir(folder.path, { recursive: true });
  for (const on of PLATFORMS) {
    await writeFile(join(folder.path, executableName(version, on)), platformName(on));
  }
  const script = join(root, "scripts", "packaging", "write.ts");
  const urls = ["https://files.example/x/", "https://roomhub.example"];
  const flags = ["--conditions=@roomhub/source", script, folder.path, ...urls];
  execFileSync(process.execPath, flags);
  const check = spawnSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: folder.path });
  expect(check.status).toBe(0);
  const formula = await readFile(join(folder.path, "roomhub.rb"), "utf8");
  expect(formula).toContain(`url "https://files.example/x/roomhub-${version}-linux-x64"`);
  // The rules of \`brew audit\` for a description.
  const [, shown = ""] = /desc "(.*)"/.exec(formula) ?? [];
  expect(shown).toBe(description.replace(/\.$/, ""));
  expect(shown.length).toBeLessThanOrEqual(80);
  expect(shown).not.toMatch(/^(?:an? |the )|roomhub|\.$/i);
  expect(await readdir(join(folder.path, "winget"))).toHaveLength(3);
});

describe("the release workflow", () => {
  const text = readFileSync(join(root, "packaging/release-workflow.yml"), "utf8");
  const workflow = parse(text) as {
    jobs: Record<
      string,
      {
        needs?: string;
        strategy?: { matrix: { include: { target: string }[] } };
        permissions?: Record<string, string>;
        steps: { run?: string; uses?: string; with?: Record<string, unknown> }[];
      }
    >;
  };

  test("builds an executable for each platform, and publishes after all of them", () => {
    const { check, executable, publish, image } = workflow.jobs;
    const targets = executable?.strategy?.matrix.include.map(({ target }) => target);
    expect(targets?.toSorted()).toEqual(PLATFORMS.map(platformName).toSorted());
    expect([check?.needs, executable?.needs, publish?.needs, image?.needs]).toEqual([
      undefined,
      "check",
      "executable",
      "publish",
    ]);
  });

  test("attests what is downloaded, and builds the image for the platforms of servers", () => {
    const uses = (job: string) => workflow.jobs[job]?.steps.flatMap((step) => step.uses ?? []);
    const attested = workflow.jobs["publish"]?.steps
      .filter(({ uses: action }) => action?.startsWith("actions/attest-"))
      .map((step) => step.with?.["subject-path"]);
    expect(attested?.join()).toContain("dist/executables/roomhub-*");
    expect(attested?.join()).toContain("dist/release/*.tgz");
    expect(workflow.jobs["publish"]?.permissions).toMatchObject({
      "id-token": "write",
      attestations: "write",
    });
    expect(uses("image")).toContain("docker/build-push-action@v6");
    const build = workflow.jobs["image"]?.steps.at(-1)?.with;
    expect(build).toMatchObject({ platforms: "linux/amd64,linux/arm64", sbom: true });
  });

  test("runs scripts and names files that exist", () => {
    const { scripts } = readJson("package.json") as { scripts: Record<string, string> };
    const names = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(4);
    expect(names.filter((name) => !(name in scripts))).toEqual([]);
    const files = [...text.matchAll(/\bpackaging\/[\w.-]+/g)].map(([path]) => path);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}
