import { defaultServerConditions } from "vite";
import { defineConfig } from "vitest/config";

/** Sources run as they are: packages find each other's TypeScript through this condition. */
const ssr = { resolve: { conditions: ["@roomhub/source", ...defaultServerConditions] } };

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        ssr,
        test: {
          name: "units",
          include: ["packages/*/src/**/*.test.ts", "bench/**/*.test.ts"],
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
          exclude: ["tests/faults/**", "tests/real/**"],
          testTimeout: 30_000,
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
