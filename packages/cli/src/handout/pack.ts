import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "fflate";

/** One file of a package, its path relative to the package, with slashes. */
export interface PackageFile {
  path: string;
  body: Uint8Array;
}

/**
 * A package as npm installs it: a gzipped tar of `package/…`.
 *
 * The same files give the same bytes on every machine: order, time, owner and mode are fixed, and the deflate is JavaScript,
 * since the output of `node:zlib` differs between versions of Node.
 *
 * @throws RangeError for a path longer than 92 bytes, or one outside ASCII
 */
export function packPackage(files: readonly PackageFile[]): Uint8Array {
  const sorted = files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const parts = sorted.flatMap(({ path, body }) => [
    header(path, body.length),
    body,
    new Uint8Array(padding(body.length)),
  ]);
  // Two empty blocks end a tar.
  return gzipSync(Buffer.concat([...parts, new Uint8Array(2 * blockBytes)]), {
    level: 9,
    mtime: 0,
  });
}

const blockBytes = 512;

/** As npm does: 1985-10-26T08:15:00Z, because zip tools reject the year 1970. */
const fixedSeconds = 499_162_500;

/** A ustar header. POSIX.1-1988, "ustar Interchange Format". */
function header(path: string, size: number): Uint8Array {
  const name = `package/${path}`;
  if (name.length > 100 || !/^[\x21-\x7e]+$/.test(name)) {
    throw new RangeError(`${path} is no path for a package: up to 92 printable characters`);
  }
  const block = Buffer.alloc(blockBytes);
  block.write(name, 0);
  block.write(octal(/^bin\/.*\.js$/.test(path) ? 0o755 : 0o644, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(size, 12), 124);
  block.write(octal(fixedSeconds, 12), 136);
  block.write("0", 156);
  block.write("ustar\x0000", 257);
  block.fill(" ", 148, 156);
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${octal(checksum, 7)} `, 148);
  return block;
}

/** @param width - with the NUL that ends it */
function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, "0")}\0`;
}

function padding(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

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
