import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { root, shellLines, shellWords } from "../../support/documents/guide.ts";
import type { BlockPlan } from "./block-plan.ts";
import { misunderstood } from "./command-line.ts";

const cannot = "it would change the machine; its commands of roomhub are read";

export const install: readonly BlockPlan[] = [
  { begins: "npm install --global", cannot, follow: readCommands },
  {
    begins: "npm ci",
    cannot: "it would replace the packages under the tests' feet",
    follow: areScripts,
  },
  { begins: "sha256sum", cannot, follow: readCommands },
  { begins: "npm run build:binary", cannot: "binary.slow.test.ts runs it", follow: areScripts },
  { begins: "roomhub service install", cannot, follow: readCommands },
  { begins: "eval", cannot, follow: readCommands },
  { begins: "roomhub service remove", cannot, follow: readCommands },
];

export function readCommands(block: string): Promise<void> {
  const lines = shellLines({ blocks: [{ language: "sh", text: block }] });
  const given = lines.flatMap((line) => /(?:^|\$\()roomhub (.*?)\)?"?$/.exec(line)?.[1] ?? []);
  expect(given).not.toEqual([]);
  const unknown = given.filter((line) => line !== "--version");
  for (const line of unknown) expect(misunderstood(shellWords(line)), line).toEqual([]);
  return Promise.resolve();
}

async function areScripts(block: string): Promise<void> {
  const names = [...block.matchAll(/^npm run (\S+)$/gm)].map(([, name = ""]) => name);
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  expect(names).not.toEqual([]);
  expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(names));
}
