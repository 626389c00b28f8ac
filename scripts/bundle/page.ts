// The page that watches a room, as static files inside the package.
import { join } from "node:path";
import { build } from "vite";
import type { BuiltProgram } from "./program.ts";

/** @param root - of the workspace */
export async function buildPage(root: string): Promise<BuiltProgram> {
  const result = await build({
    configFile: join(root, "apps/monitor/vite.config.ts"),
    build: { write: false },
  });
  if (!("output" in result)) throw new Error("Vite made no page");
  const { output } = result;
  return {
    files: output.map((one) => ({
      path: `dist/monitor-page/${one.fileName}`,
      body: one.type === "chunk" ? one.code : Buffer.from(one.source).toString("utf8"),
      map: undefined,
    })),
    modules: output.flatMap((one) => (one.type === "chunk" ? Object.keys(one.modules) : [])),
  };
}
