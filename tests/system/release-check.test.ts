import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { packPackage } from "../../packages/cli/src/handout/pack.ts";
import {
  type Manifest,
  manifestProblems,
  repositoryFields,
  unreadyReasons,
  type WorkspacePackage,
} from "../../scripts/release/manifest.ts";
import {
  differentFiles,
  lacksVersion,
  packedProblems,
} from "../../scripts/release/packed-problems.ts";
import {
  integrityOf,
  publishingOrder,
  publishingProblems,
  type ReleaseRecord,
} from "../../scripts/release/record.ts";
import { type PackedFile, readTarball } from "../../scripts/release/tarball.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";

const workspace: Manifest = {
  name: "workspace",
  version: "1.0.0",
  license: "MIT",
  engines: { node: ">=22" },
  repository: { url: "git+https://git.example/roomhub.git" },
};

function manifest(name: string, changes: Partial<Manifest> = {}): Manifest {
  return {
    name,
    version: "1.0.0",
    license: "MIT",
    engines: { node: ">=22" },
    repository: { url: "git+https://git.example/roomhub.git", directory: `packages/${name}` },
    publishConfig: { access: "public", provenance: true },
    ...changes,
  };
}

const base: WorkspacePackage = { folder: "packages/base", manifest: manifest("base") };

describe("manifests", () => {
  const problemsOf = (changes: Partial<Manifest>, versions = {}) =>
    manifestProblems(
      workspace,
      [base, { folder: "packages/top", manifest: manifest("top", changes) }],
      {
        locked: { "packages/base": "1.0.0", "packages/top": "1.0.0" },
        openApi: "1.0.0",
        ...versions,
      },
    );

  test("of one version, with provenance, have no problem", () => {
    expect(problemsOf({ dependencies: { base: "1.0.0", other: "^2.0.0" } })).toEqual([]);
  });

  test.each<[Partial<Manifest>, string]>([
    [{ version: "1.0.1" }, "top is 1.0.1, others are 1.0.0"],
    [{ private: true }, "top is private"],
    [{ license: "ISC" }, "top has another licence"],
    [{ engines: {} }, "top needs another Node than the workspace"],
    [{ publishConfig: { access: "public" } }, "top has no publishConfig.provenance: true"],
    [{ publishConfig: { provenance: true } }, "top has no publishConfig.access: public"],
    [{ repository: "elsewhere" }, "top has another repository.directory than packages/top"],
    [{ dependencies: { base: "^1.0.0" } }, "top depends on base ^1.0.0"],
    [
      { dependencies: { other: "file:../x" } },
      "top depends on other by file:../x, which is not in a registry",
    ],
  ])("with %j have a problem", (changes, problem) => {
    expect(problemsOf(changes)).toContain(problem);
  });

  test("of another version than the lockfile or the OpenAPI document have a problem", () => {
    expect(problemsOf({}, { locked: { "packages/base": "1.0.0" } })).toEqual([
      "top is undefined in the lockfile, not 1.0.0",
    ]);
    expect(problemsOf({}, { openApi: "0.9.0" })).toEqual([
      "the OpenAPI document is of 0.9.0, not of 1.0.0",
    ]);
  });

  test("of a named repository have no problem, whatever the form of its URL", () => {
    for (const url of ["https://git.example/ana/roomhub", "https://git.example/ana/roomhub.git"]) {
      const of = (folder?: string) => repositoryFields(url, folder);
      const named: WorkspacePackage[] = ["base", "top"].map((name) => ({
        folder: `packages/${name}`,
        manifest: manifest(name, of(`packages/${name}`)),
      }));
      const locked = { "packages/base": "1.0.0", "packages/top": "1.0.0" };
      const whole = { ...workspace, ...of() };
      expect(manifestProblems(whole, named, { locked, openApi: "1.0.0" })).toEqual([]);
      expect(unreadyReasons(whole, 0, 0)).toEqual([]);
      expect(whole.repository).toEqual({
        type: "git",
        url: "git+https://git.example/ana/roomhub.git",
      });
    }
  });

  test("are not ready without a repository, with waiting changesets or with uncommitted files", () => {
    expect(unreadyReasons(workspace, 0, 0)).toEqual([]);
    const { repository: _, ...bare } = workspace;
    expect(unreadyReasons(bare, 2, 3)).toHaveLength(3);
  });
});

describe("a packed package", () => {
  const as = { name: "base", version: "1.0.0", license: "MIT text", root: "/home/ana/checkout" };
  const packed: Record<string, string> = {
    "package.json": JSON.stringify({
      ...manifest("base"),
      bin: { base: "bin/base.js" },
      exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
    }),
    LICENSE: "MIT text",
    "README.md": "# base",
    "bin/base.js": "#!/usr/bin/env node",
    "dist/index.js": "",
    "dist/index.d.ts": "",
    "src/index.ts": "",
  };
  const files = (changes: Record<string, string | undefined> = {}): PackedFile[] =>
    Object.entries({ ...packed, ...changes }).flatMap(([path, text]) => {
      const mode = path.startsWith("bin/") ? 0o755 : 0o644;
      return text === undefined ? [] : [{ path, mode, body: Buffer.from(text) }];
    });

  test("with what it names and nothing else has no problem", () => {
    expect(packedProblems(files(), as)).toEqual([]);
  });

  test.each<[Record<string, string | undefined>, string]>([
    [{ "dist/index.js": undefined }, "base names ./dist/index.js, which it does not have"],
    [{ "bin/base.js": undefined }, "base names bin/base.js, which it does not have"],
    [{ LICENSE: "other" }, "base has not the workspace's LICENSE"],
    [{ "README.md": undefined }, "base has no README.md"],
    [{ "src/a.test.ts": "" }, "base has src/a.test.ts"],
    [{ "src/a.fixture.ts": "" }, "base has src/a.fixture.ts"],
    [{ ".npmrc": "" }, "base has .npmrc"],
    [{ "dist/x.tsbuildinfo": "" }, "base has dist/x.tsbuildinfo"],
    [{ "dist/old.js": "" }, "base has dist/old.js without its source. Remove dist and build again"],
    [
      { "dist/index.js": '"/home/ana/checkout/x"' },
      "base names the folder /home/ana/checkout in dist/index.js",
    ],
    [
      { "package.json": JSON.stringify({ ...manifest("base"), version: "0.9.0" }) },
      "base is base 0.9.0",
    ],
    [
      { "package.json": JSON.stringify({ ...manifest("base"), scripts: { postinstall: "x" } }) },
      "base runs postinstall when it is installed",
    ],
  ])("with %j has a problem", (changes, problem) => {
    expect(packedProblems(files(changes), as)).toContain(problem);
  });

  test("has modes that let its programs be run, and nothing else", () => {
    const wrong = files().map((file) => ({ ...file, mode: 0o775 }));
    expect(packedProblems(wrong, as)).toContain("base has bin/base.js with mode 775");
  });

  test("has the version in its change log", () => {
    expect(lacksVersion(files({ "CHANGELOG.md": "# base\n\n## 1.0.0\n" }), "1.0.0")).toBe(false);
    expect(lacksVersion(files({ "CHANGELOG.md": "# base\n\n## 1.0.0-rc\n" }), "1.0.0")).toBe(true);
    expect(lacksVersion(files(), "1.0.0")).toBe(true);
  });

  test("has every file that hubs hand out, with the same bytes", () => {
    const published = files({ "dist/index.js.map": "{}" });
    expect(differentFiles(files(), published)).toEqual([]);
    expect(differentFiles(files({ "dist/index.js": "changed" }), published)).toEqual([
      "dist/index.js",
    ]);
    expect(differentFiles(files({ "dist/more.js": "" }), published)).toEqual(["dist/more.js"]);
  });
});

test("a tarball is read as it was packed", () => {
  const part = fc.stringMatching(/^[a-z]{1,25}$/);
  const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
  const file = fc.record({ path, body: fc.uint8Array({ maxLength: 2000 }) });
  fc.assert(
    fc.property(fc.uniqueArray(file, { selector: (one) => one.path }), (files) => {
      const packed = packPackage(files.map((one) => ({ ...one, body: Buffer.from(one.body) })));
      const read = readTarball(packed).map((one) => [one.path, [...one.body]]);
      const expected = files.map((one) => [one.path, [...one.body]]);
      expect(new Map(read as [string, number[]][])).toEqual(
        new Map(expected as [string, number[]][]),
      );
    }),
  );
});

describe("publishing", () => {
  const tarball = Buffer.from("packed");
  const record: ReleaseRecord = {
    version: "1.0.0",
    commit: "abc",
    packages: [{ name: "base", file: "base-1.0.0.tgz", sha512: integrityOf(tarball) }],
    unready: [],
  };

  test("takes the tarballs that were tested, and no others", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "base-1.0.0.tgz");
    expect(await publishingProblems(folder.path, record, "abc")).toEqual([
      "base-1.0.0.tgz is missing",
    ]);
    await writeFile(path, tarball);
    expect(await publishingProblems(folder.path, record, "abc")).toEqual([]);
    await writeFile(path, "changed");
    expect(await publishingProblems(folder.path, record, "abc")).toEqual([
      "base-1.0.0.tgz is not the tarball of base that was tested",
    ]);
  });

  test("is refused at another commit, and while something is not ready", async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, "base-1.0.0.tgz"), tarball);
    const unready = { ...record, unready: ["2 changesets wait"] };
    expect(await publishingProblems(folder.path, unready, "def")).toEqual([
      "2 changesets wait",
      "what was tested is commit abc, and this is def",
    ]);
  });

  test("begins with what others depend on", () => {
    const packages = [
      { name: "top", dependencies: ["middle", "elsewhere"] },
      { name: "middle", dependencies: ["base"] },
      { name: "base", dependencies: [] },
    ];
    expect(publishingOrder(packages).map(({ name }) => name)).toEqual(["base", "middle", "top"]);
    const circular = [
      { name: "a", dependencies: ["b"] },
      { name: "b", dependencies: ["a"] },
    ];
    expect(() => publishingOrder(circular)).toThrow("a depends on itself");
  });
});
