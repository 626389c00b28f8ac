// Builds the package `roomhub` as it is published and as hubs hand it out: the command with everything it needs, packed the
// same on every machine. `npm run build:bundle`, or with another folder than `dist`: `npm run build:bundle -- FOLDER`.
//
// FOLDER/roomhub/             the package, with source maps beside its chunks
// FOLDER/roomhub-VERSION.tgz  the same without source maps
// FOLDER/sbom.cdx.json        the packages that are inside
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { packPackage, sdkFolder, withContents } from "../../packages/cli/src/handout/pack.ts";
import { buildPage } from "./page.ts";
import { buildProgram } from "./program.ts";
import { sbomDocument } from "./sbom.ts";
import { buildSdk } from "./sdk.ts";
import { bundledPackages, thirdPartyDocument } from "./third-party.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const folder = resolve(process.argv[2] ?? join(root, "dist"));

const manifest = JSON.parse(await readFile(join(root, "packages/cli/package.json"), "utf8")) as {
  version: string;
} & Record<string, unknown>;
const [program, page, sdk] = await Promise.all([
  buildProgram(root),
  buildPage(root),
  buildSdk(root),
]);
const built = [...program.files, ...page.files];
const inside = bundledPackages([...program.modules, ...page.modules]);
const files = withContents([
  ...built.map(({ path, body }) => ({ path, body: Buffer.from(body) })),
  ...sdk.map(({ path, body }) => ({ path: `${sdkFolder}${path}`, body: Buffer.from(body) })),
  { path: "package.json", body: Buffer.from(publishedManifest()) },
  {
    path: "THIRD_PARTY.md",
    body: Buffer.from(thirdPartyDocument(inside)),
  },
  { path: "openapi.json", body: Buffer.from(await openApi()) },
  { path: "bin/package.json", body: Buffer.from('{ "type": "commonjs" }\n') },
  { path: "bin/roomhub.js", body: await readFile(join(root, "scripts/bundle/launcher.js")) },
  ...(await Promise.all(
    ["CHANGELOG.md", "LICENSE", "README.md"].map(async (path) => ({
      path,
      body: await readFile(join(root, "packages/cli", path)),
    })),
  )),
]);

const packageFolder = join(folder, "roomhub");
await rm(packageFolder, { recursive: true, force: true });
for (const { path, body } of files) await put(path, body);
for (const { path, map } of built) if (map !== undefined) await put(`${path}.map`, map);

const tarball = packPackage(files);
const file = join(folder, `roomhub-${manifest.version}.tgz`);
await writeFile(file, tarball);
const sbom = sbomDocument(manifest.version, inside);
await writeFile(join(folder, "sbom.cdx.json"), `${JSON.stringify(sbom, null, 2)}\n`);
console.log(
  JSON.stringify({
    file,
    bytes: tarball.length,
    sha512: createHash("sha512").update(tarball).digest("hex"),
  }),
);

async function put(path: string, body: Uint8Array | string): Promise<void> {
  const target = join(packageFolder, path);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, body, { mode: path === "bin/roomhub.js" ? 0o755 : 0o644 });
}

/** Without what only a checkout needs: everything is inside. */
function publishedManifest(): string {
  const { dependencies: _bundled, exports: _sources, files: _all, ...kept } = manifest;
  return `${JSON.stringify(kept, null, 2)}\n`;
}

/** Without the line breaks, which are for readers of the repository. */
async function openApi(): Promise<string> {
  const document = await readFile(join(root, "packages/hub/openapi.json"), "utf8");
  return JSON.stringify(JSON.parse(document));
}
