import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packPackage, type PackageFile } from "./pack.ts";

const name = "contents.json";
/** Where the package has the files of the SDK's. */
export const sdkFolder = "dist/sdk/";

/** Which files a package has, and what they hash to: an installed package can be packed again, to the same bytes. */
interface Contents {
  files: string[];
  sha512: string;
}

/** @param folder - of a package */
export function contentsPath(folder: string): string {
  return join(folder, name);
}

/** The files, and one more that lists them. */
export function withContents(files: readonly PackageFile[]): PackageFile[] {
  const sorted = files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const contents: Contents = { files: sorted.map(({ path }) => path), sha512: hashOf(sorted) };
  return [...sorted, { path: name, body: Buffer.from(`${JSON.stringify(contents)}\n`) }];
}

/**
 * Packs an installed package as it was published.
 *
 * @throws Error when one of its files was changed or is missing
 */
export async function repackPackage(folder: string): Promise<Uint8Array> {
  return packPackage(withContents(await publishedFiles(folder)));
}

/** Packs the SDK that an installed package has inside. @throws as {@link repackPackage} */
export async function packSdk(folder: string): Promise<Uint8Array> {
  const files = await publishedFiles(folder);
  return packPackage(
    files
      .filter(({ path }) => path.startsWith(sdkFolder))
      .map(({ path, body }) => ({ path: path.slice(sdkFolder.length), body })),
  );
}

async function publishedFiles(folder: string): Promise<PackageFile[]> {
  const contents = JSON.parse(await readFile(contentsPath(folder), "utf8")) as Contents;
  const files = await Promise.all(
    contents.files.map(async (path) => ({ path, body: await readFile(join(folder, path)) })),
  );
  if (hashOf(files) !== contents.sha512) {
    throw new Error(`the files in ${folder} are not those that were published; install it again`);
  }
  return files;
}

function hashOf(files: readonly PackageFile[]): string {
  const hash = createHash("sha512");
  for (const { path, body } of files) hash.update(`${path}\n${body.length}\n`).update(body);
  return hash.digest("base64");
}
