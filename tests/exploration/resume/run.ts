import { openFields } from "./open-fields.ts";

/**
 * Prints a line of JSON for each setting, or for each planted defect what was found. A program of its own, since it has to
 * come before the product is loaded: `node … run.ts quick|deep|full|defects`
 */
openFields();
const { explore } = await import("../explore.ts");
const { resumeMachine } = await import("./machine.ts");
const { deepSettings, fullSettings, quickSettings } = await import("./settings.ts");
const { resumeDefects } = await import("./defects.ts");

const [what = "quick"] = process.argv.slice(2);
if (what === "defects") {
  for (const { name, plant } of resumeDefects) {
    const takeOut = plant();
    print({ name, found: firstFound() });
    takeOut();
  }
} else {
  const settings = { quick: quickSettings, deep: deepSettings, full: fullSettings }[what] ?? [];
  for (const setting of settings) print({ name: setting.name, ...explore(resumeMachine(setting)) });
}

function firstFound() {
  for (const setting of quickSettings) {
    const { found } = explore(resumeMachine(setting));
    if (found !== undefined) return found;
  }
  return undefined;
}

function print(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
