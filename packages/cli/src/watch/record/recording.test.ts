import {
  appendFileSync,
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as fc from "fast-check";
import "@roomhub/hub"; // Loaded by the first recording, which should not wait for it.
import { openRecording, readLines } from "./recording.ts";

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
async function record(lines: readonly string[], maxBytes = 1_000_000, day = "2026-01-02") {
  const recording = await openRecording({ path: path(), maxBytes });
  for (const each of lines) recording.write(each, day);
  await recording.close();
  return recording.lastId;
}

test("a recording goes on after its last event, and only this user can read it", async () => {
  expect(await record([line(1), line(2)])).toBeUndefined();
  expect(await record([line(3)])).toBe("b-2");
  expect(contents()).toBe(line(1) + line(2) + line(3));
  if (process.platform !== "win32") expect(statSync(path()).mode & 0o777).toBe(0o600);
});

test("a line that a crash left incomplete is removed, wherever it was cut", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: line(2).length - 1 }), async (cut) => {
      rmSync(path(), { force: true });
      await record([line(1)]);
      appendFileSync(path(), line(2).slice(0, cut));
      expect(await record([line(2)])).toBe("b-1");
      expect(contents()).toBe(line(1) + line(2));
    }),
  );
});

test("an incomplete first line is removed too, and a gap at the end is passed over", async () => {
  appendFileSync(path(), line(1).slice(0, 20));
  expect(await record([line(1)])).toBeUndefined();
  expect(contents()).toBe(line(1));
  appendFileSync(path(), '{"gap":{"from":"b-1","to":"b-5","missed":3}}\n');
  expect(await record([])).toBe("b-1");
});

test("a recording that begins with a gap goes on wherever it was cut, after the last event of the file before it", async () => {
  const gap = '{"gap":{"from":"b-1","to":"b-9","missed":7}}\n';
  const whole = gap + line(9);
  writeFileSync(join(folder, "lab.2026-01-02.0001.ndjson"), line(1));
  for (let cut = 0; cut < whole.length; cut++) {
    writeFileSync(path(), whole.slice(0, cut));
    expect(await record([line(9)])).toBe("b-1");
    expect(contents()).toBe(cut < gap.length ? line(9) : whole);
  }
});

test.each(["hello", "hello\n", '{"a":1}\n', "\n\n", '{"id":'.repeat(1_000_000)])(
  "a file that is no recording is left as it is",
  async (text) => {
    appendFileSync(path(), text);
    await expect(record([line(1)])).rejects.toThrow("contains something else than a recording");
    expect(readdirSync(folder)).toEqual(["lab.ndjson"]);
    expect(contents()).toBe(text);
  },
);

test("a full file is renamed, and one event is never refused", async () => {
  await record([line(1), line(2), line(3)], 2 * line(1).length);
  expect(readdirSync(folder).sort()).toEqual(["lab.2026-01-02.0001.ndjson", "lab.ndjson"]);
  expect(contents("lab.2026-01-02.0001.ndjson")).toBe(line(1) + line(2));
  expect(contents()).toBe(line(3));
  await record([line(4), line(5)], 1);
  expect(contents("lab.2026-01-02.0002.ndjson")).toBe(line(3));
  expect(contents("lab.2026-01-02.0003.ndjson")).toBe(line(4));
  expect(contents()).toBe(line(5));
});

test("each day has a file of its own, also after a restart", async () => {
  await record([line(1)]);
  await record([line(2, "2026-01-03")], 1_000_000, "2026-01-03");
  expect(contents("lab.2026-01-02.0001.ndjson")).toBe(line(1));
  expect(contents()).toBe(line(2, "2026-01-03"));
});

test("a time that is no day is part of no file name", async () => {
  await record([line(1)]);
  await record([line(2)], 1, "../../evil");
  expect(readdirSync(folder).sort()).toEqual(["lab.2026-01-02.0001.ndjson", "lab.ndjson"]);
});

test("a process that ended right after renaming a file goes on after that file's last event", async () => {
  await record([line(1), line(2)], line(1).length);
  rmSync(path());
  appendFileSync(join(folder, "lab.notes.ndjson"), "not a recording");
  expect(await record([line(3)])).toBe("b-1");
});

test("a second recorder of one file is refused with the pid of the first, until that one closes it", async () => {
  const options = { path: path(), maxBytes: 1_000 };
  const first = await openRecording(options);
  await expect(openRecording(options)).rejects.toThrow(
    `${path()} is being written by process ${process.pid}. If that is no roomhub record, delete ${path()}.lock`,
  );
  await first.close();
  await (await openRecording(options)).close();
  expect(readdirSync(folder)).toEqual(["lab.ndjson"]);
});

test("a full file that cannot be renamed fails with the reason; closing it then closes no other file and frees it", async () => {
  const recording = await openRecording({ path: path(), maxBytes: 1 });
  recording.write(line(1), "2026-01-02");
  rmSync(path());
  expect(() => recording.write(line(2), "2026-01-02")).toThrow("ENOENT: no such file");
  const other = openSync(join(folder, "other"), "w");
  try {
    await recording.close();
    expect(fstatSync(other).isFile()).toBe(true);
  } finally {
    closeSync(other);
  }
  expect(readdirSync(folder)).toEqual(["other"]);
});

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
