// What a bundle contains, and the licences of that as one document.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A package that is inside. */
export interface Bundled {
  name: string;
  version: string;
  licence: string;
  copyright: string[];
  /** without the lines of copyright */
  text: string;
}

/**
 * @param modules - absolute paths of what is inside
 * @returns sorted by name
 * @throws Error naming a package that has no licence
 */
export function bundledPackages(modules: readonly string[]): Bundled[] {
  const folders = new Set(modules.flatMap((path) => packageFolder(path) ?? []));
  return [...folders].map(read).sort((one, other) => (one.name < other.name ? -1 : 1));
}

export function thirdPartyDocument(packages: readonly Bundled[]): string {
  const byText = Map.groupBy(packages, ({ text }) => text.replaceAll(/\s+/g, " ").toLowerCase());
  const sections = [...byText.values()].map((group) =>
    [
      `## ${[...new Set(group.map(({ licence }) => licence))].join(", ")}`,
      group
        .map(({ name, version, copyright }) =>
          [`- ${name} ${version}`, ...copyright.map((line) => `  ${line}`)].join("\n"),
        )
        .join("\n"),
      group[0]?.text ?? "",
    ].join("\n\n"),
  );
  return `# Third-party software\n\nroomhub contains these packages.\n\n${sections.join("\n\n")}\n`;
}

/** The innermost package; undefined for our own modules and for modules made by the bundler. */
function packageFolder(module: string): string | undefined {
  const path = module.replace(/^\0/, "").replaceAll("\\", "/");
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
}

function read(folder: string): Bundled {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license?: string;
  };
  const { name, version, license } = manifest;
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(?:\.|-|$)/i.test(entry));
  if (license === undefined) throw new Error(`${name} names no licence`);
  const lines = file === undefined ? [] : readFileSync(join(folder, file), "utf8").split(/\r?\n/);
  const isCopyright = (line: string) => /^\s*(?:copyright|\(c\)|©)/i.test(line);
  const isTitle = (line: string) =>
    /^\W*(?:the )?(?:mit|isc) licen[cs]e\W*(?:\(mit\))?\W*$/i.test(line);
  return {
    name,
    version,
    licence: license,
    copyright: lines.filter(isCopyright).map((line) => line.trim()),
    text: lines
      .filter((line) => !isCopyright(line) && !isTitle(line))
      .join("\n")
      .trim(),
  };
}
