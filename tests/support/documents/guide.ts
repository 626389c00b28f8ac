import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../..", import.meta.url));

/** A page of documentation that a reader follows step by step. */
export interface Guide {
  /** from the root of the repository */
  path: string;
  text: string;
  blocks: readonly Block[];
}

interface Block {
  /** empty when the fence names none */
  language: string;
  text: string;
}

export function readGuides(): Guide[] {
  const names = readdirSync(join(root, "docs/guides")).map((name) => `docs/guides/${name}`);
  const packages = readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`);
  const others = ["docs/reference/clients.md", "docs/reference/nats.md", "README.md", ...packages];
  return [...names, ...others].map((path) => {
    const text = readFileSync(join(root, path), "utf8");
    const fences = text.matchAll(/^```(\w*)\n(.*?)^```$/gms);
    const blocks = [...fences].map(([, language = "", text = ""]) => ({ language, text }));
    return { path, text, blocks };
  });
}

/** The lines of all shell blocks; a line that ends in a backslash is joined with the next one. */
export function shellLines({ blocks }: Pick<Guide, "blocks">): string[] {
  return blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ text }) => text.replaceAll(/\\\n\s*/g, "").split("\n"))
    .filter((line) => line !== "");
}

/** Relative links that lead nowhere. */
export function brokenLinks({ path, text }: Pick<Guide, "path" | "text">): string[] {
  const targets = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target = ""]) => target);
  return targets.filter(
    (target) => !/^\w+:/.test(target) && !existsSync(join(root, dirname(path), target)),
  );
}

/** The words of a simple command line: quotes are taken off, nothing is expanded. */
export function shellWords(line: string): string[] {
  return [...line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replaceAll(/["']/g, ""),
  );
}
