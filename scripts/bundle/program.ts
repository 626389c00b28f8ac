// The command and everything it imports, as a few files of JavaScript.
import { dirname, join, relative } from "node:path";
import { type InputOptions, type OutputOptions, type Plugin, rolldown } from "rolldown";

/** The oldest Node that runs the program: syntax that it cannot read is written in older words. */
const target = "node22.21";

/** A file of the bundle. */
interface Built {
  path: string;
  body: string;
  /** its source map, as JSON */
  map: string | undefined;
}

export interface BuiltProgram {
  files: Built[];
  /** absolute paths of what is inside */
  modules: string[];
}

/** @param root - of the workspace */
export async function buildProgram(root: string): Promise<BuiltProgram> {
  const program = await bundle(
    {
      cwd: root,
      input: { bin: join(root, "packages/cli/src/bin.ts") },
      platform: "node",
      transform: { target },
      // Modules wherever a package has them: what is not used can only be left out of those.
      resolve: {
        conditionNames: ["@roomhub/source", "module", "import", "node", "default"],
        mainFields: ["module", "main"],
      },
      treeshake: {
        // Both act by being imported; the rest of the command's package declares that it does not.
        moduleSideEffects: [{ test: /cli\/src\/(?:bin|main)\.ts$/, sideEffects: true }],
      },
      plugins: [ownFiles(root), leaveOut(), httpAlone()],
    },
    {
      format: "esm",
      chunkFileNames: "[name].js",
      entryFileNames: "[name].js",
      codeSplitting: { groups: [{ name: "shared", test: ownSource, minShareCount: 3 }] },
    },
  );
  // Loaded by `require`, and only for a log in JSON: a file of its own.
  const logger = await bundle(
    {
      ...{ cwd: root, platform: "node", transform: { target } },
      input: { pino: join(root, "node_modules/pino/pino.js") },
    },
    { format: "cjs", entryFileNames: "[name].cjs", codeSplitting: false },
  );
  return {
    files: [...program.files, ...logger.files],
    modules: [...program.modules, ...logger.modules],
  };
}

async function bundle(input: InputOptions, output: OutputOptions): Promise<BuiltProgram> {
  await using build = await rolldown(input);
  const { output: written } = await build.generate({
    ...output,
    minify: true,
    sourcemap: true,
    comments: false,
  });
  const chunks = written.filter((one) => one.type === "chunk");
  return {
    files: chunks.map(({ fileName, code, map }) => ({
      path: `dist/${fileName}`,
      body: code,
      map: map?.toString(),
    })),
    modules: chunks.flatMap(({ modules }) => Object.keys(modules)),
  };
}

/** What several commands use is one file: a file for each such set of modules costs more than it saves. */
const ownSource = /packages\/(?:cli|client|protocol|provider|room-state)\/src\//;

/** Parts of packages that no path of this program reaches, and what stands in for them. */
const unreached: Record<string, string> = {
  // Of https-proxy-agent: lines for its own developers.
  debug: "module.exports = () => () => {};",
  // Of find-my-way: for routes that are regular expressions, and for parsing queries.
  "safe-regex2": "module.exports = () => true;",
  "fast-querystring": "module.exports = {};",
};

function leaveOut(): Plugin {
  return {
    name: "leave-out",
    resolveId: {
      filter: { id: new RegExp(`^(?:${Object.keys(unreached).join("|")})$`) },
      handler: (id) => `\0unreached:${id}`,
    },
    load: {
      filter: { id: /^\0unreached:/ },
      handler: (id) => unreached[id.slice("\0unreached:".length)],
    },
  };
}

/**
 * `import` of `node:http` reads each of its exports, and `WebSocket` among them is a getter that loads Node's `fetch`: 5 MB
 * and 50 ms of a hub, which never calls it.
 */
function httpAlone(): Plugin {
  const id = "\0http";
  return {
    name: "http-alone",
    resolveId: { filter: { id: /^(?:node:)?http$/ }, handler: () => id },
    load: {
      filter: { id: /^\0http$/ },
      handler: () => 'module.exports = process.getBuiltinModule("node:http");',
    },
  };
}

const ownUrl = /new URL\("(\.\.?\/[^"]+)", import\.meta\.url\)/g;
const pino = 'createRequire(import.meta.url)("pino")';

/**
 * Files beside the sources stand beside `dist` in the package: `packages/hub/openapi.json` as `openapi.json`. And pino is a
 * file of its own.
 */
function ownFiles(root: string): Plugin {
  return {
    name: "own-files",
    transform: {
      filter: { id: /\/packages\/[a-z-]+\/src\/.*\.ts$/, code: /import\.meta\.url/ },
      handler(code, id) {
        const moved = code
          .replaceAll(ownUrl, (_whole, path: string) => {
            const inPackage = relative(packageOf(root, id), join(dirname(id), path));
            return `new URL("../${inPackage.replaceAll("\\", "/")}", import.meta.url)`;
          })
          .replace(pino, 'createRequire(import.meta.url)("./pino.cjs")');
        // The map stays as it is: no line moves.
        return { code: moved, map: null };
      },
    },
  };
}

/** The folder of the workspace's package that a module belongs to. */
function packageOf(root: string, module: string): string {
  const [, name = ""] = /packages\/([a-z-]+)\/src\//.exec(module) ?? [];
  return join(root, "packages", name);
}
