import { spawnSync } from "node:child_process";

/** @returns why not, as a sentence */
export function missingInRuby(library: "openai" | "ruby_llm"): string | undefined {
  const { status } = spawnSync("ruby", ["-W0", "-e", `require "${library}"`]);
  return status === 0 ? undefined : `ruby here has no ${library}`;
}
