// Writes where the sources are into every manifest, which provenance is proven against, and into the lines that clone them:
// npm run release:repository -- https://git.example/ana/roomhub
import { execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { repositoryFields } from "./manifest.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const [url = ""] = process.argv.slice(2);
if (!/^https:\/\/[^/]+\/.+[^/]$/.test(url)) {
  console.error("Name the repository: npm run release:repository -- https://HOST/OWNER/roomhub");
  process.exit(2);
}
const packages = (await readdir(join(root, "packages"))).map((name) => `packages/${name}`);
const paths: string[] = [];
for (const folder of [undefined, ...packages]) {
  const path = join(root, folder ?? ".", "package.json");
  paths.push(path);
  const manifest = JSON.parse(await readFile(path, "utf8")) as object;
  const named = { ...manifest, ...repositoryFields(url, folder) };
  await writeFile(path, `${JSON.stringify(named, null, 2)}\n`);
}
execFileSync(join(root, "node_modules", ".bin", "oxfmt"), paths, { stdio: "inherit" });
for (const document of ["README.md", "CONTRIBUTING.md", "docs/guides/quickstart.md"]) {
  const path = join(root, document);
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replace(/(?<=\bgit clone )\S+/, url));
}
