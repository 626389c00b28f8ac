import { readFile, writeFile } from "node:fs/promises";
import { startVitest } from "vitest/node";
import { type Cell, DOCUMENT, renderTables } from "./table.ts";

/** `npm run compat:table`: runs the matrix and writes its tables into the document. Failures fail it, and show there. */

const vitest = await startVitest(["tests/compat/clients"], {
  project: ["system", "slow"],
  watch: false,
  // Without the tests that compare the document with tables it does not have yet.
  testNamePattern: /^(?!.*is in docs)/,
});
const cells: Cell[] = [];
for (const module of vitest.state.getTestModules()) {
  for (const test of module.children.allTests()) {
    const { compat } = test.meta();
    if (compat !== undefined) cells.push(compat);
  }
}
await vitest.close();
cells.sort((one, other) => Math.sign(one.client.localeCompare(other.client)));
const text = await readFile(DOCUMENT, "utf8");
const between = /(?<=<!-- begin: npm run compat:table -->\n).*(?=\n<!-- end -->)/s;
await writeFile(
  DOCUMENT,
  text.replace(between, () => `\n${renderTables(cells)}\n`),
);
