// The SDK as hubs hand it out: one module and its types, without dependencies, so that it is installed without a registry.
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { bundledPackages, thirdPartyDocument } from "./third-party.ts";

interface SdkFile {
  path: string;
  body: string;
}

/**
 * The files of the package `@roomhub/client`.
 *
 * @param root - of the workspace
 */
export async function buildSdk(root: string): Promise<SdkFile[]> {
  const source = join(root, "packages/client");
  const [module, types] = await Promise.all([bundle(root), declarations(root)]);
  const texts = ["LICENSE", "README.md"].map(async (path) => ({
    path,
    body: await readFile(join(source, path), "utf8"),
  }));
  return [
    { path: "package.json", body: await manifestOf(source) },
    { path: "dist/index.js", body: module.code },
    { path: "THIRD_PARTY.md", body: thirdPartyDocument(bundledPackages(module.modules)) },
    ...types,
    ...(await Promise.all(texts)),
  ];
}

async function manifestOf(source: string): Promise<string> {
  const text = await readFile(join(source, "package.json"), "utf8");
  const given = JSON.parse(text) as Record<string, unknown>;
  const { dependencies: _bundled, files: _all, publishConfig: _unpublished, ...kept } = given;
  const entry = { types: "./dist/index.d.ts", default: "./dist/index.js" };
  const exports = { ".": entry, "./package.json": "./package.json" };
  return `${JSON.stringify({ ...kept, exports }, null, 2)}\n`;
}

/** Not minified: an SDK is read by those who debug with it. */
async function bundle(root: string): Promise<{ code: string; modules: string[] }> {
  await using build = await rolldown({
    cwd: root,
    input: join(root, "packages/client/src/index.ts"),
    // Browsers and Node.
    platform: "neutral",
    resolve: {
      conditionNames: ["@roomhub/source", "module", "import", "default"],
      mainFields: ["module", "main"],
    },
  });
  const { output } = await build.generate({ format: "esm", entryFileNames: "index.js" });
  const [{ code, modules }] = output;
  if (output.length !== 1) throw new Error(`the SDK has become ${output.length} files`);
  return { code, modules: Object.keys(modules) };
}

const protocolImport = /(?:import|export) (type )?\{([^}]*)\} from "@roomhub\/protocol";/g;

/** The SDK's declarations, and what they name of the protocol written out: its own are made of zod's types. */
async function declarations(root: string): Promise<SdkFile[]> {
  const folder = await mkdtemp(join(tmpdir(), "roomhub-sdk-"));
  try {
    const index = join(root, "packages/client/src/index.ts");
    const own = await declare(root, join(folder, "own"), index, join(root, "packages/client/src"));
    const texts = own.map(({ body }) => body).join("\n");
    const names = [...texts.matchAll(protocolImport)].flatMap(([, isType, list = ""]) =>
      list
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "")
        .map((name) => (isType === undefined ? name : `type ${name}`)),
    );
    const [protocol] = await declare(
      root,
      join(folder, "protocol"),
      await writtenOut(folder, [...new Set(names)].toSorted()),
      folder,
    );
    if (protocol === undefined) throw new Error("the protocol has no declarations");
    return [
      ...own.map(({ path, body }) => ({ path: `dist/${path}`, body: standingAlone(body) })),
      { path: "dist/protocol.d.ts", body: asTypes(protocol.body) },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A module that makes the compiler write each type without the names that it is made of. */
async function writtenOut(folder: string, names: readonly string[]): Promise<string> {
  const lines = names.map((name) => {
    const plainName = name.replace(/^type /, "");
    const type = name === plainName ? `typeof protocol.${name}` : `protocol.${plainName}`;
    return `export const ${plainName}_${name === plainName ? "value" : "type"} = plain<${type}>();`;
  });
  const file = join(folder, "protocol.mts");
  await writeFile(
    file,
    `import type * as protocol from "@roomhub/protocol";
type Plain<T> = T extends infer O
  ? O extends Uint8Array ? Uint8Array
  : O extends (...args: infer A) => infer R
    ? (...args: Plain<A>) => Plain<R>
    : O extends readonly (infer I)[]
      ? number extends O["length"] ? Plain<I>[] : { [K in keyof O]: Plain<O[K]> }
      : O extends object
        ? { [K in keyof O]: Plain<O[K]> }
        : O
  : never;
declare function plain<T>(): Plain<T>;
${lines.join("\n")}
`,
  );
  return file;
}

/** @returns the declarations of the sources below `rootFolder`, by their paths there */
async function declare(
  root: string,
  outFolder: string,
  file: string,
  rootFolder: string,
): Promise<SdkFile[]> {
  const project = `${outFolder}.json`;
  const compilerOptions = {
    ...{ lib: ["es2024", "dom", "dom.iterable", "dom.asynciterable"], types: [] },
    ...{ declaration: true, emitDeclarationOnly: true, rootDir: rootFolder, outDir: outFolder },
    // Below a folder `node_modules` nothing is emitted; only its types are read.
    paths: { "@roomhub/protocol": [join(root, "node_modules/@roomhub/protocol/src/index.ts")] },
  };
  const config = { extends: join(root, "tsconfig.base.json"), compilerOptions, files: [file] };
  await writeFile(project, JSON.stringify(config));
  const compiler = join(root, "node_modules/typescript/lib/tsc.js");
  await promisify(execFile)(process.execPath, [compiler, "-p", project]).catch(
    (error: { stdout?: string }) => {
      throw new Error(`the SDK's types cannot be declared:\n${error.stdout}`);
    },
  );
  const paths = (await readdir(outFolder, { recursive: true })).filter((path) =>
    /\.d\.m?ts$/.test(path),
  );
  return Promise.all(
    paths.toSorted().map(async (path) => ({
      path: path.replaceAll("\\", "/"),
      body: await readFile(join(outFolder, path), "utf8"),
    })),
  );
}

function standingAlone(text: string): string {
  return text
    .replaceAll('"@roomhub/protocol"', '"./protocol.js"')
    .replaceAll(/ from "(\.\/[^"]+)\.ts"/g, ' from "$1.js"');
}

/** @throws Error when a name of the protocol is left, which programs do not have */
function asTypes(text: string): string {
  const written = text
    // The compiler writes a union by the name that it was first given.
    .replaceAll("protocol.Timer", "object | number")
    .replace(/^import type \* as protocol from .*\n/, "")
    .replaceAll(/export declare const (\w+)_type:/g, "export type $1 =")
    .replaceAll(/export declare const (\w+)_value:/g, "export declare const $1:");
  const left = /\bprotocol\.\w+/.exec(written);
  if (left !== null) throw new Error(`the SDK's types name ${left[0]}, which it does not have`);
  return written;
}
