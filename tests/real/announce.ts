import { llama, whisper } from "./binary.ts";

/** Prints before the first test which servers the tests use, or why they are skipped. */
export function setup(): void {
  for (const { path, whyNot } of [llama, whisper]) {
    const news =
      whyNot === undefined
        ? `with ${path}`
        : `skipped: ${whyNot}. How to get a server: tests/real/README.md`;
    process.stdout.write(`real: ${news}\n`);
  }
}
