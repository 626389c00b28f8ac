import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { packPackage, type PackageFile } from "./pack.ts";
import { repackPackage, withContents } from "./package-contents.ts";

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
