import { X509Certificate } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../tests/support/programs/temporary-folder.ts";
import { certificateIn } from "./own-certificate.ts";

test("a certificate is made once, by one of several hubs that start at once, for its user alone", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "state", "certificate.pem");
  const pairs = await Promise.all([1, 2, 3, 4].map(() => certificateIn(path, ["box.local"])));
  for (const pair of pairs) expect(pair).toEqual(pairs[0]);
  expect(await certificateIn(path, ["other"])).toEqual(pairs[0]);
  expect(await readdir(join(folder.path, "state"))).toEqual(["certificate.pem"]);
  if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
  const facts = new X509Certificate(pairs[0]?.cert ?? "");
  expect(facts.checkHost("box.local")).toBe("box.local");
  expect(facts.validToDate.getUTCFullYear() - new Date().getUTCFullYear()).toBeGreaterThan(40);
});

test("a file with something else in it is not replaced", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "certificate.pem");
  await writeFile(path, "mine");
  await expect(certificateIn(path, [])).rejects.toThrow("does not contain a certificate");
  expect(await readFile(path, "utf8")).toBe("mine");
});
