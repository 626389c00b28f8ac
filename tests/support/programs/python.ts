import { spawnSync } from "node:child_process";

const looked = ["openai", "langchain_openai", "websockets"] as const;

type Library = (typeof looked)[number];

/** Looked for at once: it takes long to start. */
const found = spawnSync("python3", [
  "-c",
  `from importlib.util import find_spec
print(*[name for name in ${JSON.stringify(looked)} if find_spec(name)])`,
]).stdout;

/** @returns why not, as a sentence */
export function missingInPython(library: Library): string | undefined {
  const names = String(found ?? "").split(/\s/);
  return names.includes(library) ? undefined : `python3 here has no ${library}`;
}
