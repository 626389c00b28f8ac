import { fileURLToPath } from "node:url";
import { defaultClientConditions, defineConfig } from "vite";

/** Static files for any host and any path: every address in them is relative. */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  logLevel: "warn",
  resolve: { conditions: ["@roomhub/source", ...defaultClientConditions] },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    // An inlined script or style would be refused by the page's content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
