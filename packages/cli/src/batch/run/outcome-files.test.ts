import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemWorld } from "@roomhub/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openOutcomes } from "./outcome-files.ts";
import { customIdOf, outcomeLine } from "./outcome-line.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "roomhub-batch-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const paths = () => ({ output: join(folder, "o.jsonl"), errors: join(folder, "e.jsonl") });
const line = (id: string, body = '{"ok":true}') =>
  outcomeLine("batch_req_1", id, { kind: "response", status: 200, requestId: "req_1", body });

async function opened() {
  const found: string[] = [];
  const files = await openOutcomes(paths(), systemWorld, (id, kind) => {
    found.push(`${kind} ${id}`);
  });
  return { files, found };
}

test("a line is in OpenAI's format, on one line, with the response's digits as they came", () => {
  const text = line("a", '{\r\n  "n": 1.0,\n  "s": "x\\ny"\n}\n');
  expect(text).toBe(
    '{"id":"batch_req_1","custom_id":"a","response":{"status_code":200,"request_id":"req_1","body":{   "n": 1.0,   "s": "x\\ny" } },"error":null}\n'.replace(
      "{   ",
      "{   ",
    ),
  );
  expect(JSON.parse(text)).toEqual({
    id: "batch_req_1",
    custom_id: "a",
    response: { status_code: 200, request_id: "req_1", body: { n: 1, s: "x\ny" } },
    error: null,
  });
  const error = outcomeLine("batch_req_2", "b", { kind: "error", code: "c", message: "m" });
  expect(JSON.parse(error)).toEqual({
    id: "batch_req_2",
    custom_id: "b",
    response: null,
    error: { code: "c", message: "m" },
  });
});

test.each(["a", 'quo"te', "back\\slash", "{}", "ü\u2028", "a,b"])(
  "the custom_id %j is found in its line, also after another program has written the line anew",
  (id) => {
    const text = line(id).trimEnd();
    expect(customIdOf(text)).toBe(id);
    const { custom_id: first, ...rest } = JSON.parse(text) as Record<string, unknown>;
    expect(customIdOf(JSON.stringify({ ...rest, custom_id: first }))).toBe(id);
  },
);

test("lines are on the disk when they are added, and a file appears with its first line", async () => {
  const { files } = await opened();
  await Promise.all([files.add("output", line("a")), files.add("output", line("b"))]);
  expect(readFileSync(paths().output, "utf8")).toBe(line("a") + line("b"));
  expect(existsSync(paths().errors)).toBe(false);
  const last = files.add("errors", line("c"));
  await files.close();
  await last;
  expect(readFileSync(paths().errors, "utf8")).toBe(line("c"));
  expect((await opened()).found).toEqual(["output a", "output b", "errors c"]);
});

test("a last line that was cut at any byte is removed, and the next one is whole", async () => {
  const cutLine = line("ü");
  for (let cut = 0; cut < Buffer.byteLength(cutLine); cut++) {
    const start = Buffer.from(cutLine).subarray(0, cut);
    writeFileSync(paths().output, Buffer.concat([Buffer.from(line("a")), start]));
    const { files, found } = await opened();
    expect(found).toEqual(["output a"]);
    const added = files.add("output", line("b"));
    await files.close();
    await added;
    expect(readFileSync(paths().output, "utf8")).toBe(line("a") + line("b"));
  }
});

test("zeros that a power cut left are removed with what comes after them", async () => {
  writeFileSync(paths().output, `${line("a")}\0\0\0\n${line("b")}`);
  expect((await opened()).found).toEqual(["output a"]);
  expect(readFileSync(paths().output, "utf8")).toBe(line("a"));
});

test.each(["hello\n", '{"a":1}\n', "\n"])("a file with %j in it is left as it is", async (text) => {
  writeFileSync(paths().errors, text);
  await expect(opened()).rejects.toThrow("has something else than results in it");
  expect(readFileSync(paths().errors, "utf8")).toBe(text);
});

test("after a write that failed nothing more is written", async () => {
  const { files } = await openedIn(join(folder, "missing"));
  await expect(files.add("output", line("a"))).rejects.toThrow("ENOENT");
  await expect(files.add("output", line("b"))).rejects.toThrow("ENOENT");
  await expect(files.close()).rejects.toThrow("ENOENT");
});

async function openedIn(missing: string) {
  const files = await openOutcomes(
    { output: join(missing, "o.jsonl"), errors: join(folder, "e.jsonl") },
    systemWorld,
    () => undefined,
  );
  return { files };
}
