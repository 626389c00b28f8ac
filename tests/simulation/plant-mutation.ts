import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { blindMutations } from "./blind-mutations.ts";
import { mutations } from "./mutations.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Plants a defect in what is loaded from now on.
 *
 * @throws Error when there is none of that name, or its place is not in the file exactly once
 */
export function plantMutation(name: string): void {
  const mutation = [...mutations, ...blindMutations].find((one) => one.name === name);
  if (mutation === undefined) throw new Error(`There is no mutation ${name}.`);
  const { file, before, after } = mutation;
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.startsWith("file:") || fileURLToPath(url) !== `${root}${file}`) return loaded;
      // Types are removed afterwards.
      const text = readFileSync(`${root}${file}`, "utf8");
      if (text.split(before).length !== 2) throw new Error(`${file} has not once: ${before}`);
      return { ...loaded, source: text.replace(before, () => after) };
    },
  });
}
