import { type Dirent, readdirSync } from "node:fs";
import { defineConfig } from "oxlint";

/**
 * Who may import whom: the tables of ARCHITECTURE.md, enforced. Each room lists what it may import; everything else
 * that exists here is refused. A new package, folder or dependency is added to its universe first.
 */
const ourPackages = [
  "protocol",
  "tunnel",
  "provider",
  "client",
  "room-state",
  "participant",
  "hub",
];
const natsClient = ["@nats-io/transport-node", "@nats-io/jetstream", "@nats-io/kv"];
const openTelemetry = [
  "@opentelemetry/api",
  "@opentelemetry/exporter-metrics-otlp-http",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-metrics",
];
const thirdParty = [
  ...openTelemetry,
  "zod",
  "eventsource-parser",
  "ws",
  "find-my-way",
  "pino",
  "https-proxy-agent",
  "commander",
  "@clack/prompts",
  "bonjour-service",
  "fflate",
  "uqr",
  "preact",
  ...natsClient,
];
/** Folders and files as they are in the tree: a new one is refused until a row below allows it. */
const hubRooms = folders("packages/hub/src");
const hubRootFiles = sources("packages/hub/src");

function folders(path: string): string[] {
  return entries(path).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}

function sources(path: string): string[] {
  return entries(path).flatMap(({ name }) => /^([\w-]+)\.ts$/.exec(name)?.[1] ?? []);
}

function entries(path: string): Dirent[] {
  return readdirSync(new URL(path, import.meta.url), { withFileTypes: true });
}

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
    packages: ourPackages,
    thirdParty: [
      "commander",
      "@clack/prompts",
      "bonjour-service",
      "fflate",
      "uqr",
      "zod",
      ...openTelemetry,
    ],
    node: true,
  },
};

interface AllowedInHub extends Allowed {
  rooms: string[];
  files: string[];
}

const pure = { packages: ["protocol"], thirdParty: [], node: false };

const insideHub: Record<string, AllowedInHub> = {
  domain: { ...pure, rooms: [], files: ["errors"] },
  credentials: { ...pure, node: true, rooms: [], files: ["errors", "stored-digest"] },
  storage: { ...pure, node: true, rooms: ["domain"], files: ["errors", "log", "stored-digest"] },
  events: { ...pure, rooms: ["domain"], files: ["log"] },
  operations: {
    ...pure,
    rooms: ["domain", "events", "credentials", "storage"],
    files: ["errors", "one-by-one"],
  },
  inference: {
    ...pure,
    rooms: ["domain", "events"],
    files: ["anthropic-error", "errors"],
  },
  upstreams: {
    packages: ["protocol", "tunnel", "provider"],
    thirdParty: ["ws"],
    node: true,
    rooms: ["domain", "credentials", "inference"],
    files: ["errors", "handshake-problem", "log"],
  },
  cluster: {
    packages: ["protocol"],
    thirdParty: natsClient,
    node: true,
    rooms: ["domain", "credentials", "storage"],
    files: ["errors", "log", "one-by-one", "within"],
  },
  hop: { ...pure, packages: [], node: true, rooms: ["domain"], files: [] },
  http: {
    packages: ["protocol"],
    thirdParty: ["find-my-way", "ws"],
    node: true,
    rooms: ["operations", "inference", "events", "hop"],
    files: ["anthropic-error", "errors", "handshake-problem", "log"],
  },
};

const inferenceRooms = folders("packages/hub/src/inference");
const inferenceRootFiles = sources("packages/hub/src/inference");

/** The page that watches a room: static files, which reach a hub as any program does. */
const monitorPage: Allowed = {
  packages: ["protocol", "client", "room-state"],
  thirdParty: ["preact", "uqr"],
  node: false,
};

/** What each room inside `inference/` may import of its house: other rooms, and files at its root. */
const insideInference: Record<string, { rooms: string[]; files: string[] }> = {
  json: { rooms: [], files: [] },
  stream: { rooms: ["json"], files: [] },
  request: { rooms: ["json"], files: ["upstream"] },
  sender: { rooms: [], files: [] },
  response: {
    rooms: ["stream", "json"],
    files: ["client-response", "inference-call", "request-facts", "upstream"],
  },
};

checkRows("packages/hub/src", hubRooms, insideHub);
checkRows("packages/hub/src/inference", inferenceRooms, insideInference);
for (const { rooms, files } of Object.values(insideHub)) {
  checkNames(rooms, hubRooms);
  checkNames(files, hubRootFiles);
}
for (const { rooms, files } of Object.values(insideInference)) {
  checkNames(rooms, inferenceRooms);
  checkNames(files, inferenceRootFiles);
}

/** Without a row a folder could import anything. */
function checkRows(path: string, rooms: string[], rows: Record<string, unknown>): void {
  const named = Object.keys(rows);
  const odd = [...missing(rooms, named), ...missing(named, rooms)];
  if (odd.length > 0) throw new Error(`${path}: a folder or a row too many: ${odd.join(", ")}`);
}

function checkNames(allowed: string[], tree: string[]): void {
  const gone = missing(allowed, tree);
  if (gone.length > 0) throw new Error(`Rows allow what does not exist: ${gone.join(", ")}`);
}

function missing(universe: string[], allowed: string[]): string[] {
  return universe.filter((entry) => !allowed.includes(entry));
}

function refusedPackages(allowed: Allowed): string[] {
  const refused = [
    ...missing(ourPackages, allowed.packages).map((name) => `^@roomhub/${name}($|/)`),
    ...missing(thirdParty, allowed.thirdParty).map((name) => `^${name}($|/)`),
    "^roomhub($|/)",
    "^@roomhub/[a-z-]+/",
  ];
  return allowed.node ? refused : [...refused, "^node:"];
}

function refusedInHub(room: string, allowed: AllowedInHub): string[] {
  return [
    ...refusedPackages(allowed),
    ...missing(hubRooms, [room, ...allowed.rooms]).map((name) => `^(\\.\\./)+${name}/`),
    ...missing(hubRootFiles, allowed.files).map((name) => `^(\\.\\./)+${name}\\.ts$`),
  ];
}

function refusedInInference(room: string, { rooms, files }: { rooms: string[]; files: string[] }) {
  const others = missing(inferenceRooms, [room, ...rooms]);
  return [
    ...refusedInHub("inference", insideHub["inference"]),
    ...others.map((name) => `^\\.\\./${name}/`),
    ...missing(inferenceRootFiles, files).map((name) => `^\\.\\./${name}\\.ts$`),
  ];
}

function refuse(refused: string[], where: string) {
  return {
    "no-restricted-imports": [
      "error",
      {
        patterns: refused.map((regex) => ({
          regex,
          message: `${where} may not import this: see the tables in ARCHITECTURE.md.`,
        })),
      },
    ] as const,
  };
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
    ...Object.entries(insideHub).map(([room, allowed]) => ({
      files: [`packages/hub/src/${room}/**/*.ts`],
      rules: refuse(refusedInHub(room, allowed), `packages/hub/src/${room}`),
    })),
    ...Object.entries(insideInference).map(([room, allowed]) => ({
      files: [`packages/hub/src/inference/${room}/**/*.ts`],
      rules: refuse(refusedInInference(room, allowed), `packages/hub/src/inference/${room}`),
    })),
    {
      files: ["apps/monitor/src/**/*.{ts,tsx}"],
      rules: refuse(refusedPackages(monitorPage), "apps/monitor"),
    },
    {
      files: ["packages/cli/src/**/*.ts"],
      rules: {
        "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
      },
    },
    {
      files: ["**/*.test.ts", "**/*.fixture.ts", "tests/**/*.ts"],
      rules: {
        "max-lines-per-function": "off",
        "no-restricted-imports": "off",
        "typescript/no-non-null-assertion": "off",
        "max-lines": ["error", { max: 600 }],
      },
    },
    { files: ["*.config.ts"], rules: { "import/no-default-export": "off" } },
    { files: ["scripts/**", "packages/cli/bin/**"], rules: { "no-console": "off" } },
  ],
});
