import type { Manifest } from "./manifest.ts";
import type { PackedFile } from "./tarball.ts";

/** What no published package may have. */
const unwanted =
  /(?:^|\/)(?:node_modules|__snapshots__|\.git|\.npmrc|\.env)(?:\/|$)|\.(?:test|fixture)\.|\.tsbuildinfo$|\.tgz$/;
const installScripts = ["preinstall", "install", "postinstall", "prepare", "prepublish"];

export interface PackedAs {
  /** of the workspace */
  name: string;
  version: string;
  /** the text of the workspace's licence */
  license: string;
  /** the folder of this checkout, which no file may name */
  root: string;
}

/** Whether a packed package is what was meant to be published. @returns one sentence per problem */
export function packedProblems(files: readonly PackedFile[], as: PackedAs): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const textOf = (path: string) => byPath.get(path)?.body.toString();
  const manifest = JSON.parse(textOf("package.json") ?? "{}") as Partial<Manifest>;
  const { bin = {}, scripts = {} } = manifest;
  const problems: string[] = [];
  if (manifest.name !== as.name || manifest.version !== as.version) {
    problems.push(`is ${manifest.name} ${manifest.version}`);
  }
  if (textOf("LICENSE") !== as.license) problems.push("has not the workspace's LICENSE");
  if (textOf("README.md") === undefined) problems.push("has no README.md");
  const found = installScripts.filter((name) => name in scripts);
  if (found.length > 0) problems.push(`runs ${found.join(", ")} when it is installed`);
  for (const path of [...Object.values(bin), ...exportedPaths(manifest.exports)]) {
    if (!byPath.has(path.replace(/^\.\//, "")))
      problems.push(`names ${path}, which it does not have`);
  }
  const programs = new Set(Object.values(bin).map((path) => path.replace(/^\.\//, "")));
  for (const { path, mode, body } of files) {
    if (unwanted.test(path)) problems.push(`has ${path}`);
    const expected = programs.has(path) ? 0o755 : 0o644;
    if ((mode & 0o777) !== expected) problems.push(`has ${path} with mode ${mode.toString(8)}`);
    if (body.includes(as.root)) problems.push(`names the folder ${as.root} in ${path}`);
  }
  return [...problems, ...leftovers(byPath)].map((problem) => `${as.name} ${problem}`);
}

/** The compiler does not remove the output of a source that was removed. */
function leftovers(byPath: ReadonlyMap<string, PackedFile>): string[] {
  const isBuiltFromSources = [...byPath.keys()].some((path) => path.startsWith("src/"));
  if (!isBuiltFromSources) return [];
  return [...byPath.keys()]
    .filter((path) => /^dist\/.*\.js$/.test(path) && !path.startsWith("dist/monitor-page/"))
    .filter((path) => !byPath.has(path.replace(/^dist\/(.*)\.js$/, "src/$1.ts")))
    .map((path) => `has ${path} without its source. Remove dist and build again`);
}

/** `{".": {types: "./a", default: "./b"}}` → both, in whatever depth. */
function exportedPaths(exports: unknown): string[] {
  if (typeof exports === "string") return [exports];
  if (typeof exports !== "object" || exports === null) return [];
  return Object.values(exports).flatMap(exportedPaths);
}

/** Whether the change log has the version. @param files - of one package */
export function lacksVersion(files: readonly PackedFile[], version: string): boolean {
  const log = files.find(({ path }) => path === "CHANGELOG.md")?.body.toString() ?? "";
  return !log.split("\n").includes(`## ${version}`);
}

/** Files of the tarball that hubs hand out that the published package does not have with the same bytes. */
export function differentFiles(
  handedOut: readonly PackedFile[],
  published: readonly PackedFile[],
): string[] {
  const byPath = new Map(published.map((file) => [file.path, file]));
  return handedOut
    .filter(({ path, body }) => byPath.get(path)?.body.equals(body) !== true)
    .map(({ path }) => path);
}
