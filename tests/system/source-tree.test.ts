import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..", "..");
/** Flat, because everything imports it as a whole. */
const flat = new Set(["packages/protocol/src"]);
const most = 20;

test("the import rules have a row for every package and folder, and name nothing that is missing", async () => {
  const { default: config } = await import("../../oxlint.config.ts");
  expect(config.overrides?.length).toBeGreaterThan(10);
});

test("a folder may import no module that its row does not list", async () => {
  const { default: config } = await import("../../oxlint.config.ts");
  const json = config.overrides?.find(({ files }) =>
    files.includes("packages/hub/src/inference/json/**/*.ts"),
  );
  const rule = JSON.stringify(json?.rules?.["no-restricted-imports"]);
  const modules = globSync("packages/hub/src/inference/*.ts", { cwd: root }).filter(isModule);
  expect(modules.length).toBeGreaterThan(5);
  for (const path of modules) expect(rule).toContain(`/${basename(path, ".ts")}\\\\.ts$`);
});

test("no folder of sources has more than 20 modules", () => {
  const modules = globSync("{packages,apps}/*/src/**/*.{ts,tsx}", { cwd: root }).filter(isModule);
  const sizes = Map.groupBy(modules, dirname);
  expect(sizes.get("packages/hub/src/domain")?.length).toBeGreaterThan(5);
  const large = [...sizes].filter(([folder, { length }]) => length > most && !flat.has(folder));
  expect(large.map(([folder, { length }]) => `${folder}: ${length}`)).toEqual([]);
});

test("sources have no syntax that Node 22 cannot read, since a checkout runs them as they are", () => {
  const modules = globSync("packages/*/src/**/*.ts", { cwd: root }).filter(isModule);
  const usesIt = (path: string) =>
    /^\s*(?:await )?using \w+ =/m.test(readFileSync(join(root, path), "utf8"));
  expect(modules.length).toBeGreaterThan(500);
  expect(modules.filter(usesIt)).toEqual([]);
});

function isModule(path: string): boolean {
  return !/\.(?:test|fixture)\.tsx?$/.test(path);
}
