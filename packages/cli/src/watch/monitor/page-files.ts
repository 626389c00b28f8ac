import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** One file of the page. */
interface PageFile {
  /** for `content-type` */
  type: string;
  body: Buffer;
}

/** The files by their paths, such as `/index.html`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

// The same from `src` and from `dist`.
const packaged = fileURLToPath(new URL("../../../dist/monitor-page/", import.meta.url));
const workspace = fileURLToPath(new URL("../../../../../", import.meta.url));
const sources = join(workspace, "apps", "monitor");
const vite = join(workspace, "node_modules", "vite", "bin", "vite.js");

/**
 * The page of `roomhub monitor`: as published with this package, or built from the sources of a checkout.
 *
 * @throws Error when it is neither here nor can be built
 */
export async function loadPageFiles(): Promise<PageFiles> {
  return import.meta.url.endsWith(".ts") ? buildPage() : readPage(packaged);
}

/** Read into memory, since another process may build at the same time, and sources may change. */
async function buildPage(): Promise<PageFiles> {
  // A published package contains neither Vite nor the sources of the page.
  if (!existsSync(vite)) return readPage(packaged);
  const folder = await mkdtemp(join(tmpdir(), "roomhub-page-"));
  try {
    // In another process, since what a build loads would stay in the memory of a hub.
    const build = [vite, "build", sources, "--outDir", folder, "--emptyOutDir"];
    await promisify(execFile)(process.execPath, build, { cwd: sources });
    return await readPage(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readPage(folder: string): Promise<PageFiles> {
  // Names only: inside an executable, Node 26 gives directory entries the wrong parents.
  const names = await readdir(folder, { recursive: true });
  const files = new Map<string, PageFile>();
  for (const name of names) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    files.set(`/${name.replaceAll(sep, "/")}`, { type, body: await readFile(join(folder, name)) });
  }
  if (!files.has("/index.html")) throw new Error(`no page in ${folder}`);
  return files;
}
