import { defineConfig } from "vitest/config";
import { ssr } from "../../vitest.config.ts";

/** Apart from `npm test`: a real model server is not on every machine. `npm run test:real`. */
export default defineConfig({
  ssr,
  test: {
    name: "real",
    include: ["tests/real/*.test.ts"],
    globalSetup: "tests/real/announce.ts",
    testTimeout: 120_000,
    // Each test starts processes of its own; two at a time already fill two cores, and then they start slowly.
    maxWorkers: 2,
    env: { TESTS_LONGEST_WAIT_MS: "30000" },
  },
});
