/** The fields of a `package.json` that matter to a release. */
export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  license?: string;
  engines?: Record<string, string>;
  homepage?: string;
  repository?: string | { type?: string; url: string; directory?: string };
  publishConfig?: { access?: string; provenance?: boolean };
  bin?: Record<string, string>;
  exports?: unknown;
  files?: string[];
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
}

/** A package of the workspace. */
export interface WorkspacePackage {
  /** from the root of the workspace: `packages/hub` */
  folder: string;
  manifest: Manifest;
}

/** What else has a version of the release in it. */
export interface Versions {
  /** of each package's folder, from the lockfile */
  locked: Readonly<Record<string, string | undefined>>;
  /** of the OpenAPI document */
  openApi: string;
}

/** Whether the manifests fit each other and the workspace's. @returns one sentence per problem */
export function manifestProblems(
  workspace: Manifest,
  packages: readonly WorkspacePackage[],
  versions: Versions,
): string[] {
  const version = packages[0]?.manifest.version ?? "";
  const names = new Set(packages.map(({ manifest }) => manifest.name));
  const problems = packages.flatMap(({ folder, manifest }) =>
    [
      ...problemsOfOne(workspace, folder, manifest, names),
      ...(manifest.version === version ? [] : [`is ${manifest.version}, others are ${version}`]),
      ...(versions.locked[folder] === manifest.version
        ? []
        : [`is ${versions.locked[folder]} in the lockfile, not ${manifest.version}`]),
    ].map((problem) => `${manifest.name} ${problem}`),
  );
  if (versions.openApi !== version) {
    problems.push(`the OpenAPI document is of ${versions.openApi}, not of ${version}`);
  }
  return problems;
}

function problemsOfOne(
  workspace: Manifest,
  folder: string,
  manifest: Manifest,
  ours: ReadonlySet<string>,
): string[] {
  const { version, dependencies = {}, publishConfig = {}, repository } = manifest;
  const problems: string[] = [];
  if (manifest.private === true) problems.push("is private");
  if (manifest.license !== workspace.license) problems.push("has another licence");
  if (manifest.engines?.["node"] !== workspace.engines?.["node"]) {
    problems.push("needs another Node than the workspace");
  }
  if (publishConfig.access !== "public") problems.push("has no publishConfig.access: public");
  if (publishConfig.provenance !== true) problems.push("has no publishConfig.provenance: true");
  if (workspace.repository !== undefined) {
    const given = typeof repository === "object" ? repository : undefined;
    const expected = urlOf(workspace);
    if (given?.url !== expected) problems.push(`has another repository.url than ${expected}`);
    if (given?.directory !== folder)
      problems.push(`has another repository.directory than ${folder}`);
  }
  for (const [name, range] of Object.entries(dependencies)) {
    if (ours.has(name) && range !== version) problems.push(`depends on ${name} ${range}`);
    if (/^(?:workspace|file|link|git|https?):/.test(range)) {
      problems.push(`depends on ${name} by ${range}, which is not in a registry`);
    }
  }
  return problems;
}

/**
 * The fields of a manifest that say where the sources are.
 *
 * @param folder - of the package; undefined for the workspace
 */
export function repositoryFields(
  url: string,
  folder: string | undefined,
): Required<Pick<Manifest, "homepage" | "repository">> {
  const repository = { type: "git", url: `git+${url.replace(/\.git$/, "")}.git` };
  return {
    homepage: url.replace(/\.git$/, ""),
    repository: folder === undefined ? repository : { ...repository, directory: folder },
  };
}

function urlOf({ repository }: Manifest): string | undefined {
  return typeof repository === "object" ? repository.url : repository;
}

/** What a release still needs, although everything that is there is right. */
export function unreadyReasons(
  workspace: Manifest,
  waitingChangesets: number,
  uncommittedFiles: number,
): string[] {
  return [
    ...(workspace.repository === undefined
      ? [
          "the manifests have no repository, which provenance is proven against. Run: npm run release:repository -- https://HOST/OWNER/roomhub",
        ]
      : []),
    ...(waitingChangesets > 0
      ? [`${waitingChangesets} changesets wait. Run: npm run release:version`]
      : []),
    ...(uncommittedFiles > 0 ? [`${uncommittedFiles} files are not committed`] : []),
  ];
}
