/** What installers of other systems are made of: one description, from which each of them is written. */
export interface ReleaseFacts {
  version: string;
  /** one sentence without a full stop */
  description: string;
  /** an SPDX identifier */
  license: string;
  homepage: string;
  /** by `<platform>-<arch>` */
  downloads: Readonly<Record<string, Download>>;
}

/** One executable. */
export interface Download {
  url: string;
  /** in lower case hexadecimal */
  sha256: string;
}

/** @throws Error when there is no executable for the platform */
export function downloadFor({ downloads }: ReleaseFacts, platform: string): Download {
  const download = downloads[platform];
  if (download === undefined) throw new Error(`there is no executable for ${platform}`);
  return download;
}
