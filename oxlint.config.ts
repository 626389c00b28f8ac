import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type OxlintOverride } from "oxlint";

/**
 * Who may import whom: the tables of ARCHITECTURE.md, enforced. Each package and folder lists what it may import; everything
 * else in the tree is refused. What there is to refuse is read from the tree, so that something new is refused until a list
 * has it; a list that names something missing, and a folder without a list, fail the lint.
 */
const root = import.meta.dirname;
const hub = join("packages", "hub", "src");

function entriesOf(path: string) {
  return readdirSync(join(root, path), { withFileTypes: true });
}

function foldersIn(path: string): string[] {
  return entriesOf(path).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
}

/** Names of the modules of one folder, without `.ts`. */
function modulesIn(path: string): string[] {
  return entriesOf(path).flatMap(
    ({ name }) => /^((?:(?!\.test\.|\.fixture\.).)+)\.ts$/.exec(name)?.[1] ?? [],
  );
}

function dependenciesOf(manifest: string): string[] {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(
    readFileSync(join(root, manifest), "utf8"),
  ) as Record<string, Record<string, string> | undefined>;
  return Object.keys({ ...dependencies, ...devDependencies });
}

const ourPackages = foldersIn("packages");
const manifests = ["package.json", ...ourPackages.map((name) => `packages/${name}/package.json`)];
const thirdParty = [...new Set(manifests.flatMap(dependenciesOf))].filter(
  (name) => !name.startsWith("@roomhub/"),
);
const hubFolders = foldersIn(hub);
const hubModules = modulesIn(hub);
const inferenceModules = modulesIn(join(hub, "inference"));

const natsClient = ["@nats-io/transport-node", "@nats-io/jetstream", "@nats-io/kv"];
const openTelemetry = [
  "@opentelemetry/api",
  "@opentelemetry/exporter-metrics-otlp-http",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-metrics",
];

interface Allowed {
  packages: string[];
  thirdParty: string[];
  node: boolean;
}

const packages: Record<string, Allowed> = {
  protocol: { packages: [], thirdParty: ["zod", "eventsource-parser"], node: false },
  tunnel: { packages: ["protocol"], thirdParty: ["ws"], node: true },
  provider: { packages: ["protocol"], thirdParty: [], node: true },
  client: { packages: ["protocol"], thirdParty: [], node: false },
  "room-state": { packages: ["protocol"], thirdParty: [], node: false },
  participant: {
    packages: ["protocol", "tunnel", "provider", "client"],
    thirdParty: ["https-proxy-agent", "ws"],
    node: true,
  },
  hub: {
    packages: ["protocol", "tunnel", "provider"],
    thirdParty: ["find-my-way", "ws", "pino", ...natsClient],
    node: true,
  },
  cli: {
    packages: ourPackages.filter((name) => name !== "cli"),
    thirdParty: [
      "commander",
      "@clack/prompts",
      "bonjour-service",
      "cross-spawn",
      "fflate",
      "uqr",
      "zod",
      ...openTelemetry,
    ],
    node: true,
  },
};

interface AllowedInHub extends Allowed {
  /** folders of `packages/hub/src/` */
  folders: string[];
  files: string[];
}

const pure = { packages: ["protocol"], thirdParty: [], node: false };

const insideHub = {
  domain: { ...pure, folders: [], files: ["errors"] },
  credentials: { ...pure, node: true, folders: [], files: ["errors", "stored-digest"] },
  storage: { ...pure, node: true, folders: ["domain"], files: ["errors", "log", "stored-digest"] },
  events: { ...pure, folders: ["domain"], files: ["log"] },
  operations: {
    ...pure,
    folders: ["domain", "events", "credentials", "storage"],
    files: ["errors", "one-by-one"],
  },
  inference: {
    ...pure,
    folders: ["domain", "events"],
    files: ["anthropic-error", "errors"],
  },
  upstreams: {
    packages: ["protocol", "tunnel", "provider"],
    thirdParty: ["ws"],
    node: true,
    folders: ["domain", "credentials", "inference"],
    files: ["errors", "handshake-problem", "log"],
  },
  cluster: {
    packages: ["protocol"],
    thirdParty: natsClient,
    node: true,
    folders: ["domain", "credentials", "storage"],
    files: ["errors", "log", "one-by-one", "within"],
  },
  hop: { ...pure, packages: ["protocol", "provider"], node: true, folders: ["domain"], files: [] },
  http: {
    packages: ["protocol"],
    thirdParty: ["find-my-way", "ws"],
    node: true,
    folders: ["operations", "inference", "events", "hop"],
    files: ["anthropic-error", "errors", "handshake-problem", "log"],
  },
} satisfies Record<string, AllowedInHub>;

/** The page that watches a room: static files, which reach a hub over its public API. */
const monitorPage: Allowed = {
  packages: ["protocol", "client", "room-state"],
  thirdParty: ["preact", "uqr"],
  node: false,
};

/** What each folder inside `inference/` may import besides what is in it: other folders, and files at its root. */
const insideInference: Record<string, { folders: string[]; files: string[] }> = {
  json: { folders: [], files: [] },
  stream: { folders: ["json"], files: [] },
  request: { folders: ["json"], files: ["upstream"] },
  sender: { folders: [], files: [] },
  response: {
    folders: ["stream", "json"],
    files: ["client-response", "inference-call", "request-facts", "upstream"],
  },
};

/** @throws Error when `allowed` names something that is not there */
function missing(universe: string[], allowed: string[]): string[] {
  const unknown = allowed.filter((entry) => !universe.includes(entry));
  if (unknown.length > 0)
    throw new Error(`oxlint.config.ts names what is not there: ${unknown.join()}`);
  return universe.filter((entry) => !allowed.includes(entry));
}

/** @throws Error when a folder has no row, or a row no folder */
function checkRows(rows: object, folders: string[], where: string): void {
  const names = Object.keys(rows);
  if ([...names].sort().join() === [...folders].sort().join()) return;
  throw new Error(
    `oxlint.config.ts has rows for ${names.join()} of ${where}, which has ${folders.join()}`,
  );
}
checkRows(packages, ourPackages, "packages");
checkRows(insideHub, hubFolders, hub);
checkRows(insideInference, foldersIn(join(hub, "inference")), "inference");

function refusedPackages(allowed: Allowed): string[] {
  const refused = [
    ...missing(ourPackages, allowed.packages).map((name) => `^@roomhub/${name}($|/)`),
    ...missing(thirdParty, allowed.thirdParty).map((name) => `^${name}($|/)`),
    "^roomhub($|/)",
    "^@roomhub/[a-z-]+/",
  ];
  return allowed.node ? refused : [...refused, "^node:"];
}

function refusedInHub(folder: string, allowed: AllowedInHub): string[] {
  return [
    ...refusedPackages(allowed),
    ...missing(hubFolders, [folder, ...allowed.folders]).map((name) => `^(\\.\\./)+${name}/`),
    ...missing(hubModules, allowed.files).map((name) => `^(\\.\\./)+${name}\\.ts$`),
  ];
}

function refusedInInference(
  folder: string,
  { folders, files }: { folders: string[]; files: string[] },
) {
  const others = missing(Object.keys(insideInference), [folder, ...folders]);
  return [
    ...refusedInHub("inference", insideHub.inference),
    ...others.map((name) => `^\\.\\./${name}/`),
    ...missing(inferenceModules, files).map((name) => `^\\.\\./${name}\\.ts$`),
  ];
}

interface ImportRefusals {
  patterns: { regex: string; message: string }[];
  paths: { name: string; importNames?: string[]; message: string }[];
}

function refuse(refused: string[], where: string) {
  const message = `${where} may not import this: see the tables in ARCHITECTURE.md.`;
  const rule: ["error", ImportRefusals] = [
    "error",
    {
      patterns: refused.map((regex) => ({ regex, message })),
      paths: platformFolders.includes(where) ? [] : worldImports,
    },
  ];
  return { "no-restricted-imports": rule };
}

/** What implements the disk behind `RoomStore`. */
const platformFolders = ["packages/hub/src/storage"];

const fromWorld = "Take it from the World.";

const worldImports = [
  {
    name: "node:crypto",
    importNames: ["randomBytes", "randomFill", "randomFillSync", "randomInt", "randomUUID"],
    message: fromWorld,
  },
  { name: "node:timers/promises", message: fromWorld },
];

const worldGlobals = [
  ...["setTimeout", "clearTimeout", "setInterval", "clearInterval"],
  ...["setImmediate", "clearImmediate", "performance", "crypto"],
];

const worldProperties = [
  { object: "Date", property: "now" },
  { object: "Math", property: "random" },
  { object: "AbortSignal", property: "timeout" },
];

/** Time, timers and randomness are arguments: `World` of `packages/protocol/src/world.ts`. */
function takeFromWorld() {
  const globals = worldGlobals.map((name) => ({ name, message: fromWorld }));
  const properties = worldProperties.map((of) => ({ ...of, message: fromWorld }));
  const rules: OxlintOverride["rules"] = {
    "no-restricted-globals": ["error", ...globals],
    "no-restricted-properties": ["error", ...properties],
  };
  return rules;
}

export default defineConfig({
  plugins: ["typescript", "unicorn", "oxc", "import", "promise"],
  categories: { correctness: "error", suspicious: "error", perf: "error" },
  ignorePatterns: ["**/dist/**", "node_modules/**"],
  env: { builtin: true },
  rules: {
    "max-lines": ["error", { max: 450 }],
    "no-console": "error",
    "no-await-in-loop": "off",
    "no-shadow": "off",
    "no-underscore-dangle": "off",
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "import/no-default-export": "error",
    "import/no-unassigned-import": "off",
    "promise/always-return": "off",
    "typescript/no-explicit-any": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/switch-exhaustiveness-check": [
      "error",
      { considerDefaultExhaustiveForUnions: true },
    ],
    // tsc's noImplicitReturns knows exhaustive switches; this one does not.
    "typescript/consistent-return": "off",
    // Copies before a loop that changes the original are meant.
    "unicorn/no-useless-spread": "off",
    "oxc/no-map-spread": "off",
    "typescript/consistent-type-imports": "error",
    "typescript/no-unsafe-type-assertion": "off",
    "unicorn/consistent-function-scoping": "off",
    "unicorn/no-array-sort": "off",
    "unicorn/no-array-reverse": "off",
    "unicorn/prefer-add-event-listener": "off",
    "unicorn/require-post-message-target-origin": "off",
    "unicorn/prefer-set-has": "off",
  },
  overrides: [
    ...Object.entries(packages).map(([name, allowed]) => ({
      files: [`packages/${name}/src/**/*.ts`],
      rules: refuse(refusedPackages(allowed), `packages/${name}`),
    })),
    ...Object.entries(insideHub).map(([folder, allowed]) => ({
      files: [`packages/hub/src/${folder}/**/*.ts`],
      rules: refuse(refusedInHub(folder, allowed), `packages/hub/src/${folder}`),
    })),
    ...Object.entries(insideInference).map(([folder, allowed]) => ({
      files: [`packages/hub/src/inference/${folder}/**/*.ts`],
      rules: refuse(refusedInInference(folder, allowed), `packages/hub/src/inference/${folder}`),
    })),
    {
      files: ["apps/monitor/src/**/*.{ts,tsx}"],
      rules: refuse(refusedPackages(monitorPage), "apps/monitor"),
    },
    {
      // No function is longer than a screen.
      files: ["packages/*/src/**/*.{ts,tsx}", "apps/*/src/**/*.{ts,tsx}"],
      rules: {
        "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
      },
    },
    {
      files: ["packages/*/src/**/*.ts"],
      rules: takeFromWorld(),
    },
    {
      // They implement it, and the disk.
      files: ["packages/protocol/src/system-world.ts", "packages/hub/src/storage/**"],
      rules: { "no-restricted-globals": "off", "no-restricted-properties": "off" },
    },
    {
      files: ["**/*.test.ts", "**/*.fixture.ts", "tests/**/*.ts"],
      rules: {
        "no-restricted-globals": "off",
        "no-restricted-properties": "off",
        "no-restricted-imports": "off",
        "typescript/no-non-null-assertion": "off",
        "max-lines": ["error", { max: 600 }],
        "max-lines-per-function": "off",
      },
    },
    { files: ["*.config.ts"], rules: { "import/no-default-export": "off" } },
    { files: ["scripts/**", "packages/cli/bin/**"], rules: { "no-console": "off" } },
  ],
});
