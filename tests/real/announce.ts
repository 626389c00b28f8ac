import { llamaServerPath, whyNot } from "./binary.ts";

/** Prints before the first test which server the tests use, or why they are skipped. */
export function setup(): void {
  const news =
    whyNot === undefined
      ? `with ${llamaServerPath}`
      : `skipped: ${whyNot}. How to build a server: tests/real/README.md`;
  process.stdout.write(`real: ${news}\n`);
}
