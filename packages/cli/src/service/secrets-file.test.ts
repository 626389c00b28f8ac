import { chmod, writeFile } from "node:fs/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { readSecrets, secretsText } from "./secrets-file.ts";

function aPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "roomhub-secrets-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "lab.env");
}

test("every value that the file can hold is read back as it was; any other is an error without it", () => {
  const value = fc.string({
    unit: fc.constantFrom("a", "'", '"', "`", "\\", "n", "#", " ", "$", "="),
  });
  fc.assert(
    fc.property(value, value, (first, second) => {
      let text: string;
      try {
        text = secretsText("lab", { FIRST: first, SECOND: second });
      } catch (error) {
        expect(String(error)).toMatch(/^UsageError: The value of (?:FIRST|SECOND) has all three/);
        const isHard = (one: string) =>
          ["'", '"', "`"].filter((mark) => one.includes(mark)).length > 1;
        expect(isHard(first) || isHard(second)).toBe(true);
        return;
      }
      expect(parseEnv(text)).toEqual({ FIRST: first, SECOND: second });
    }),
  );
});

test.each(["two\nlines", "a\0b", `'"\``])("%j cannot be kept", (value) => {
  expect(() => secretsText("lab", { TOKEN: value })).toThrow("The value of TOKEN has");
});

test("a file of the owner alone is read", async () => {
  const path = aPath();
  await writeFile(path, secretsText("lab", { TOKEN: "it's" }), { mode: 0o600 });
  expect(await readSecrets(path)).toEqual({ TOKEN: "it's" });
});

test.skipIf(process.platform === "win32").each([0o640, 0o604, 0o660, 0o644])(
  "a file of mode %o is refused",
  async (mode) => {
    const path = aPath();
    await writeFile(path, "TOKEN='x'\n");
    await chmod(path, mode);
    await expect(readSecrets(path)).rejects.toThrow(
      `The secrets file ${path} is not yours alone (its mode is ${mode.toString(8)}). Run: chmod 600 ${path}`,
    );
  },
);

test("a missing file is an error that names it", async () => {
  await expect(readSecrets("/no/such")).rejects.toThrow("The secrets file /no/such cannot be read");
});
