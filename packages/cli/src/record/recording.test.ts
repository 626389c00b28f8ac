import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as fc from "fast-check";
import { openRecording } from "./recording.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "roomhub-recording-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = () => join(folder, "lab.ndjson");
const contents = (name = "lab.ndjson") => readFileSync(join(folder, name), "utf8");

function line(n: number, day = "2026-01-02"): string {
  return `${JSON.stringify({ id: `b-${n}`, name: "llm.complete", time: `${day}T03:04:05.000Z`, payload: {} })}\n`;
}

/** Writes these and ends. @returns the last id before */
function record(lines: readonly string[], maxBytes = 1_000_000, day = "2026-01-02") {
  const recording = openRecording({ path: path(), maxBytes });
  for (const each of lines) recording.write(each, day);
  recording.close();
  return recording.lastId;
}

test("a recording goes on after its last event, and only this user can read it", () => {
  expect(record([line(1), line(2)])).toBeUndefined();
  expect(record([line(3)])).toBe("b-2");
  expect(contents()).toBe(line(1) + line(2) + line(3));
  if (process.platform !== "win32") expect(statSync(path()).mode & 0o777).toBe(0o600);
});

test("a line that a crash left incomplete is removed, wherever it was cut", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: line(2).length - 1 }), (cut) => {
      rmSync(path(), { force: true });
      record([line(1)]);
      appendFileSync(path(), line(2).slice(0, cut));
      expect(record([line(2)])).toBe("b-1");
      expect(contents()).toBe(line(1) + line(2));
    }),
  );
});

test("an incomplete first line is removed too, and a gap at the end is passed over", () => {
  appendFileSync(path(), line(1).slice(0, 20));
  expect(record([line(1)])).toBeUndefined();
  expect(contents()).toBe(line(1));
  appendFileSync(path(), '{"gap":{"from":"b-1","to":"b-5","missed":3}}\n');
  expect(record([])).toBe("b-1");
});

test.each(["hello", "hello\n", '{"a":1}\n', "\n\n", '{"id":'.repeat(1_000_000)])(
  "a file that is no recording is left as it is",
  (text) => {
    appendFileSync(path(), text);
    expect(() => record([line(1)])).toThrow("contains something else than a recording");
    expect(contents()).toBe(text);
  },
);

test("a full file is renamed, and one event is never refused", () => {
  record([line(1), line(2), line(3)], 2 * line(1).length);
  expect(readdirSync(folder).sort()).toEqual(["lab.2026-01-02.0001.ndjson", "lab.ndjson"]);
  expect(contents("lab.2026-01-02.0001.ndjson")).toBe(line(1) + line(2));
  expect(contents()).toBe(line(3));
  record([line(4), line(5)], 1);
  expect(contents("lab.2026-01-02.0002.ndjson")).toBe(line(3));
  expect(contents("lab.2026-01-02.0003.ndjson")).toBe(line(4));
  expect(contents()).toBe(line(5));
});

test("each day has a file of its own, also after a restart", () => {
  record([line(1)]);
  record([line(2, "2026-01-03")], 1_000_000, "2026-01-03");
  expect(contents("lab.2026-01-02.0001.ndjson")).toBe(line(1));
  expect(contents()).toBe(line(2, "2026-01-03"));
});

test("a time that is no day is part of no file name", () => {
  record([line(1)]);
  record([line(2)], 1, "../../evil");
  expect(readdirSync(folder).sort()).toEqual(["lab.2026-01-02.0001.ndjson", "lab.ndjson"]);
});

test("a process that ended right after renaming a file goes on after that file's last event", () => {
  record([line(1), line(2)], line(1).length);
  rmSync(path());
  appendFileSync(join(folder, "lab.notes.ndjson"), "not a recording");
  expect(record([line(3)])).toBe("b-1");
});
