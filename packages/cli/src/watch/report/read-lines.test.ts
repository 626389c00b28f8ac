import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readLines } from "./read-lines.ts";

test("lines are read as they are, the last one without its end too, and one that is too long is none", async () => {
  const folder = mkdtempSync(join(tmpdir(), "roomhub-lines-"));
  try {
    const path = join(folder, "lab.ndjson");
    const long = "x".repeat(5 * 1024 * 1024);
    writeFileSync(path, `a\n\nü\n${long}\nb\n${long}\nc`);
    const lines: (string | null)[] = [];
    for await (const line of readLines(path)) lines.push(line);
    expect(lines).toEqual(["a", "", "ü", null, "b", null, "c"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
