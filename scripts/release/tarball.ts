import { gunzipSync } from "node:zlib";

/** One file of a package, as it is in the tarball. */
export interface PackedFile {
  /** below `package/` */
  path: string;
  mode: number;
  body: Buffer;
}

const blockBytes = 512;

/**
 * The files of a package's tarball: what an installation would write.
 *
 * @throws Error for an entry that is neither a file nor a folder, or outside of `package/`
 */
export function readTarball(tarball: Uint8Array): PackedFile[] {
  const archive = gunzipSync(tarball);
  const files: PackedFile[] = [];
  let longPath: string | undefined;
  for (let at = 0; at + blockBytes <= archive.length && archive[at] !== 0;) {
    const header = archive.subarray(at, at + blockBytes);
    const size = octal(header, 124, 12);
    const body = archive.subarray(at + blockBytes, at + blockBytes + size);
    const kind = String.fromCharCode(header[156] ?? 0);
    at += blockBytes * (1 + Math.ceil(size / blockBytes));
    if (kind === "x") {
      longPath = /(?:^|\n)\d+ path=(.*)\n/.exec(body.toString())?.[1];
      continue;
    }
    const prefix = text(header, 345, 155);
    const path = longPath ?? `${prefix}${prefix === "" ? "" : "/"}${text(header, 0, 100)}`;
    longPath = undefined;
    if (kind === "5") continue;
    if (kind !== "0" && kind !== "\0") throw new Error(`${path} is of kind ${kind}, not a file`);
    if (!path.startsWith("package/") || path.split("/").includes("..")) {
      throw new Error(`${path} is outside of the package`);
    }
    const mode = octal(header, 100, 8);
    files.push({ path: path.slice("package/".length), mode, body: Buffer.from(body) });
  }
  return files;
}

function text(header: Buffer, at: number, bytes: number): string {
  const field = header.subarray(at, at + bytes);
  const end = field.indexOf(0);
  return field.subarray(0, end === -1 ? bytes : end).toString();
}

function octal(header: Buffer, at: number, bytes: number): number {
  return Number.parseInt(text(header, at, bytes).trim() || "0", 8);
}
