import { gunzipSync } from "node:zlib";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type PackageFile, packPackage, repackPackage, withContents } from "./pack.ts";

const bin: PackageFile = { path: "bin/roomhub.js", body: Buffer.from("#!/usr/bin/env node\n") };
const manifest: PackageFile = { path: "package.json", body: Buffer.from("{}") };

describe("packPackage", () => {
  test("the order of the files does not change a byte", () => {
    expect(packPackage([bin, manifest])).toEqual(packPackage([manifest, bin]));
  });

  test("a file may be executed when it is in bin, and has no owner and no date of its own", () => {
    const tar = Buffer.from(gunzipSync(packPackage([manifest, bin])));
    expect(tar.toString("latin1", 0, 22)).toBe("package/bin/roomhub.js");
    expect(tar.toString("latin1", 100, 148)).toBe(
      ["0000755", "0000000", "0000000", "00000000024", "03560116604", ""].join("\0"),
    );
    expect(tar.toString("latin1", 1_024 + 100, 1_024 + 107)).toBe("0000644");
  });

  test("every file is found where the sizes in the headers say", () => {
    const paths = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,20}$/), {
      minLength: 1,
      maxLength: 8,
    });
    const bodies = fc.array(fc.uint8Array({ maxLength: 1_100 }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(paths, bodies, (names, contents) => {
        const files = names.map((path, index) => ({
          path,
          body: contents[index] ?? new Uint8Array(),
        }));
        const found = filesIn(gunzipSync(packPackage(files)));
        const expected = files.map(({ path, body }) => [path, Buffer.from(body).toString("hex")]);
        expect(found).toEqual(new Map(expected as [string, string][]));
      }),
    );
  });

  test("a path that does not fit a header is refused", () => {
    expect(() => packPackage([{ path: "a".repeat(93), body: Buffer.alloc(0) }])).toThrow(
      RangeError,
    );
    expect(() => packPackage([{ path: "é.js", body: Buffer.alloc(0) }])).toThrow(RangeError);
  });
});

/** Contents as hex, by path. */
function filesIn(tar: Buffer): Map<string, string> {
  const found = new Map<string, string>();
  let offset = 0;
  while (tar[offset] !== 0) {
    const name = tar.toString("latin1", offset, tar.indexOf(0, offset)).slice("package/".length);
    const size = Number.parseInt(tar.toString("latin1", offset + 124, offset + 135), 8);
    found.set(name, tar.toString("hex", offset + 512, offset + 512 + size));
    offset += 512 + Math.ceil(size / 512) * 512;
  }
  return found;
}

const published = withContents([
  { path: "package.json", body: Buffer.from("{}") },
  { path: "dist/main.js", body: Buffer.from("run()") },
]);

async function installed(files: readonly PackageFile[]) {
  const folder = await mkdtemp(join(tmpdir(), "roomhub-contents-"));
  for (const { path, body } of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), body);
  }
  return {
    folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

test("an installed package packs to the bytes that were published, whatever else is in its folder", async () => {
  await using copy = await installed([
    ...published,
    { path: "dist/main.js.map", body: Buffer.from("{}") },
  ]);
  expect(await repackPackage(copy.folder)).toEqual(packPackage(published));
});

test("a package that was changed is not handed on", async () => {
  await using copy = await installed(published);
  await writeFile(join(copy.folder, "dist/main.js"), "run();");
  await expect(repackPackage(copy.folder)).rejects.toThrow(/install it again/);
});
