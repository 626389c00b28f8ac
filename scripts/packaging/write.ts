// Writes what other package managers install the executables by, from those in a folder that has one for each platform:
// `npm run packaging -- FOLDER BASE_URL HOMEPAGE`.
//
// FOLDER/SHA256SUMS       what people compare
// FOLDER/roomhub.rb       a formula for Homebrew
// FOLDER/winget/*.yaml    manifests for winget
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { executableName, PLATFORMS, platformName } from "../binary/platform.ts";
import { homebrewFormula } from "./homebrew-formula.ts";
import type { ReleaseFacts } from "./release-facts.ts";
import { wingetManifests } from "./winget-manifests.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const [folder, baseUrl, homepage] = process.argv.slice(2);
if (folder === undefined || baseUrl === undefined || homepage === undefined) {
  throw new Error("usage: npm run packaging -- FOLDER BASE_URL HOMEPAGE");
}

const { version, description, license } = JSON.parse(
  await readFile(join(root, "packages/cli/package.json"), "utf8"),
) as { version: string; description: string; license: string };
const executables = await Promise.all(
  PLATFORMS.map(async (on) => {
    const name = executableName(version, on);
    const sha256 = createHash("sha256").update(await readFile(join(folder, name)));
    return { platform: platformName(on), name, sha256: sha256.digest("hex") };
  }),
);
const facts: ReleaseFacts = {
  version,
  description: description.replace(/\.$/, ""),
  license,
  homepage,
  downloads: Object.fromEntries(
    executables.map(({ platform, name, sha256 }) => [
      platform,
      { url: `${baseUrl.replace(/\/$/, "")}/${name}`, sha256 },
    ]),
  ),
};

const sums = executables.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join("");
await writeFile(join(folder, "SHA256SUMS"), sums);
await writeFile(join(folder, "roomhub.rb"), homebrewFormula(facts));
await mkdir(join(folder, "winget"), { recursive: true });
for (const [name, text] of Object.entries(wingetManifests(facts))) {
  await writeFile(join(folder, "winget", name), text);
}
