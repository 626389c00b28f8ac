import { llamaServerPath, whyNot } from "./binary.ts";

/** Says before the first test what it runs with, or why it does not. */
export function setup(): void {
  const news =
    whyNot === undefined
      ? `with ${llamaServerPath}`
      : `skipped: ${whyNot}. How to build a server: tests/real/README.md`;
  process.stdout.write(`real: ${news}\n`);
}
