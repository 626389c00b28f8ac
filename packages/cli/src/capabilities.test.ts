import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readSecretFile } from "./capabilities.ts";

test.each([
  [0o600, false],
  [0o640, true],
  [0o604, true],
])("a secret file with mode %o is readable by others: %s", async (mode, isReadableByOthers) => {
  const folder = await mkdtemp(join(tmpdir(), "roomhub-secret-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "secret");
  await writeFile(path, "secret");
  await chmod(path, mode);
  const read = await readSecretFile(path);
  expect([Buffer.from(read.bytes).toString(), read.isReadableByOthers]).toEqual([
    "secret",
    isReadableByOthers,
  ]);
});
