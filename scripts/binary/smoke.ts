// Tests an executable as it is, such as one that was signed: `npm run smoke:binary -- FILE`.
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { smokeProgram } from "../release/smoke-program.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: npm run smoke:binary -- FILE");
const { version } = JSON.parse(await readFile(join(root, "packages/cli/package.json"), "utf8")) as {
  version: string;
};
await smokeProgram({ program: [resolve(file)], version });
console.log(`${file} works`);
