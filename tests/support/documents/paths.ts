import { existsSync, globSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./guide.ts";

const fileName = /^[\w.][\w.*@-]*\.(?:ts|js|mjs|json|md|yaml)$/;
const pathWithFolder = /^[\w.][\w.*@-]*(?:\/[\w.*@-]+)*\/(?:[\w.*@-]+)?$/;
const inlineCode = /`([^`\n]+)`/g;

/** The paths in a document's inline code: what has a slash inside it or at its end, or the extension of a source file. */
export function namedPaths(markdown: string): string[] {
  const spans = [...withoutFences(markdown).matchAll(inlineCode)].map(([, text = ""]) => text);
  return spans.filter((text) => fileName.test(text) || pathWithFolder.test(text));
}

/** Words with a slash in a document's diagrams, which leave out the extension of a file. */
export function pathsInDiagrams(markdown: string): string[] {
  const diagrams = [...markdown.matchAll(/^```\n([^]*?)^```/gm)].map(([, text = ""]) => text);
  return diagrams.flatMap((text) => text.match(/(?<![\w./{}-])[a-z]+(?:\/[a-z-]+)+/g) ?? []);
}

/** Whether a path, which may be a glob, exists below one of these folders of the checkout. */
export function existsBelow(folders: readonly string[], path: string): boolean {
  return folders.some((folder) => {
    const cwd = join(root, folder);
    return path.includes("*") ? globSync(path, { cwd }).length > 0 : existsSync(join(cwd, path));
  });
}

/** Every folder below this one that has TypeScript files of its own, with a slash at its end. */
export function sourceFolders(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  const inner = entries
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => sourceFolders(join(folder, name)));
  const hasSources = entries.some((entry) => entry.isFile() && /\.tsx?$/.test(entry.name));
  return hasSources ? [`${folder}/`, ...inner] : inner;
}

function withoutFences(markdown: string): string {
  return markdown.replace(/^```[^]*?^```/gm, "");
}
