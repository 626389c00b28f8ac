import { defaultServerConditions } from "vite";
import { defineConfig } from "vitest/config";

/** Apart from `npm test`: a real model server is not on every machine. `npm run test:real`. */
export default defineConfig({
  test: {
    name: "real",
    include: ["tests/real/*.test.ts"],
    globalSetup: "tests/real/announce.ts",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Each file starts processes of its own; two at a time already fill two cores.
    maxWorkers: 2,
  },
  ssr: { resolve: { conditions: ["@roomhub/source", ...defaultServerConditions] } },
});
