import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** What was packed, checked and tested, and is to be published. Kept as `release.json` beside the tarballs. */
export interface ReleaseRecord {
  version: string;
  /** the commit it was built from */
  commit: string;
  /** in the order in which they are published */
  packages: { name: string; file: string; sha512: string }[];
  /** what keeps it from being published; empty when nothing does */
  unready: string[];
}

/** In the form of npm's `integrity`. */
export function integrityOf(tarball: Uint8Array): string {
  return `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
}

/**
 * Whether the tarballs in a folder are the tested ones.
 *
 * @param commit - that is checked out now
 * @returns one sentence per reason not to publish
 */
export async function publishingProblems(
  folder: string,
  record: ReleaseRecord,
  commit: string,
): Promise<string[]> {
  const problems = [...record.unready];
  if (record.commit !== commit) {
    problems.push(`what was tested is commit ${record.commit}, and this is ${commit}`);
  }
  for (const { name, file, sha512 } of record.packages) {
    const tarball = await readFile(join(folder, file)).catch(() => undefined);
    if (tarball === undefined) problems.push(`${file} is missing`);
    else if (integrityOf(tarball) !== sha512) {
      problems.push(`${file} is not the tarball of ${name} that was tested`);
    }
  }
  return problems;
}

/** Packages in the order of their dependencies. */
export function publishingOrder<T extends { name: string; dependencies: readonly string[] }>(
  packages: readonly T[],
): T[] {
  const ordered: T[] = [];
  const add = (one: T, path: readonly string[]) => {
    if (ordered.includes(one)) return;
    if (path.includes(one.name)) throw new Error(`${one.name} depends on itself`);
    for (const other of packages) {
      if (one.dependencies.includes(other.name)) add(other, [...path, one.name]);
    }
    ordered.push(one);
  };
  for (const one of packages) add(one, []);
  return ordered;
}
