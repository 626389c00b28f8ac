import { defaultServerConditions } from "vite";
import { defineConfig } from "vitest/config";

/**
 * Sources run as they are: packages find each other's TypeScript through the first condition. `module` is for bundlers: what it
 * finds may not load in Node.
 */
const conditions = defaultServerConditions.filter((condition) => condition !== "module");
export const ssr = { resolve: { conditions: ["@roomhub/source", ...conditions] } };

/** No module has state, so test files share a process and its modules: loading them for each file takes a third of the time. */
const isolate = false;

/** Tests that take long, such as programs that wait for the next probe of a model server: `npm run test:slow`. */
const slow = "**/*.slow.test.ts";

/** Several programs start at once on two cores: each may take long to be there. */
const processesOfTheirOwn = { TESTS_LONGEST_WAIT_MS: "30000" };

/** Tests of the interface that run once more, see `tests/support/hub/start-test-hub.ts`. */
function again(way: "https" | "door", names: readonly string[]) {
  return {
    ssr,
    test: {
      name: way,
      isolate,
      include: names.map((name) => `tests/system/${name}.test.ts`),
      env: { ...processesOfTheirOwn, TESTS_WAY: way },
      testTimeout: 60_000,
      hookTimeout: 30_000,
    },
  };
}

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        ssr,
        test: {
          name: "units",
          include: ["{packages,apps}/*/src/**/*.test.{ts,tsx}", "bench/**/*.test.ts"],
          exclude: [slow],
          isolate,
          testTimeout: 20_000,
        },
      },
      {
        ssr,
        test: {
          name: "system",
          isolate,
          include: ["tests/**/*.test.ts"],
          exclude: [slow, "tests/faults/**", "tests/{languages,real}/**"],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        ssr,
        test: {
          name: "slow",
          isolate,
          include: [slow],
          env: processesOfTheirOwn,
          testTimeout: 120_000,
          hookTimeout: 30_000,
        },
      },
      again("https", [
        ...["aliases", "batch-serve", "capabilities", "client-leaves", "client-names", "cors"],
        ...["drain", "event-detail", "events", "fresh-room", "handshakes", "host-powers"],
        ...["join-fields", "messages", "openai", "own-first", "ownership", "revoked-keys"],
        ...["room-state", "route", "stored-responses", "stream-usage", "surfaces"],
      ]),
      again("door", ["openai"]),
      {
        ssr,
        test: {
          name: "faults",
          include: ["tests/faults/**/*.test.ts"],
          env: processesOfTheirOwn,
          // Worlds of a dozen processes: more at once starve on two cores, and what they say of time is of the machine.
          maxConcurrency: 2,
        },
      },
    ],
  },
});
