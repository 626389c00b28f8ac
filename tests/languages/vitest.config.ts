import { defineConfig } from "vitest/config";
import { ssr } from "../../vitest.config.ts";

/** Apart from `npm test`: these SDKs are not on every machine. `npm run test:languages`. */
export default defineConfig({
  ssr,
  test: {
    name: "languages",
    include: ["tests/languages/*.test.ts"],
    testTimeout: 60_000,
    maxWorkers: 2,
    env: { TESTS_LONGEST_WAIT_MS: "30000" },
  },
});
