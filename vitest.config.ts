import { defaultServerConditions } from "vite";
import { defineConfig } from "vitest/config";

/**
 * Sources run as they are: packages find each other's TypeScript through the first condition. `module` is for bundlers: what it
 * finds may not load in Node.
 */
const conditions = defaultServerConditions.filter((condition) => condition !== "module");
export const ssr = { resolve: { conditions: ["@roomhub/source", ...conditions] } };

/** What takes long, such as programs that wait for a model server to be looked at again: `npm run test:slow`. */
const slow = [
  "tests/**/*.slow.test.ts",
  "tests/system/doctor.test.ts",
  "tests/system/examples.test.ts",
  "tests/system/processes.test.ts",
  "tests/system/responses-websocket.test.ts",
  "tests/system/{cluster-directory-failures,guides,liveness-probe,llama-cpp,readiness}.test.ts",
  "tests/system/{budgets,first-run,limits,observers,provider-faults}.test.ts",
  "tests/system/{python-participant,room-password,service-units,unread-bodies}.test.ts",
  "tests/system/{cluster-directory,resume}.test.ts",
  "tests/compat/clients/{ai-sdk,browser,curl,langchain,openai-agents,openai-helpers}.test.ts",
  "tests/properties/hub-model.test.ts",
  "packages/cli/src/heap-growth.test.ts",
  "packages/cli/src/commands/doctor.test.ts",
  "packages/provider/src/call/keep-alive.test.ts",
];

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        ssr,
        test: {
          name: "units",
          include: ["{packages,apps}/*/src/**/*.test.{ts,tsx}", "bench/**/*.test.ts"],
          // Nothing here has module state, so files may share a process: half the time.
          isolate: false,
          testTimeout: 20_000,
        },
      },
      {
        ssr,
        test: {
          name: "system",
          include: ["tests/**/*.test.ts"],
          exclude: [...slow, "tests/faults/**", "tests/real/**"],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        ssr,
        test: {
          name: "slow",
          include: slow,
          testTimeout: 120_000,
          hookTimeout: 30_000,
        },
      },
      {
        ssr,
        test: {
          name: "faults",
          include: ["tests/faults/**/*.test.ts"],
          // Worlds of processes that wait most of their time.
          maxConcurrency: 3,
        },
      },
    ],
  },
});
