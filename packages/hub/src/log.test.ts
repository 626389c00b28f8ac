import { array, assert, integer, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { createLineWriter, createLog, type LogFormat, type LogFields } from "./log.ts";

function written(format: LogFormat, fields: LogFields): string[] {
  const lines: string[] = [];
  createLog(format, (line) => lines.push(String(line))).event("llm.error", "ROOM01", fields);
  return lines;
}

const hostile = [
  "forged\n[service] llm.complete requestId=req_1",
  "carriage\rreturn",
  "\u001b[2J\u001b]0;title\u0007",
  "\u009b31m in C1",
  "\u202eoverride\u202c and \u2066isolate\u2069",
  "line\u2028separator\u2029",
  "nul\u0000 del\u007f",
  '" quote="x',
  "half a pair \ud800",
];

describe("a text line", () => {
  test("has the prefix, the name and each value in quotes", () => {
    expect(
      written("text", { requestId: "req_1", status: 502, nickname: null, absent: undefined }),
    ).toEqual([
      '[service] llm.error roomCode="ROOM01" requestId="req_1" status=502 nickname=null\n',
    ]);
  });

  test.each(hostile)("stays one line of printable characters around %j", (value) => {
    const [line = "", ...more] = written("text", { error: value, code: "x" });
    expect(more).toEqual([]);
    expect(line).toMatch(/^\[service\] llm\.error roomCode="ROOM01" error=".*" code="x"\n$/);
    expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
  });

  test("whatever the value, is one line from which the value can be read again", () => {
    assert(
      property(array(integer({ min: 0, max: 0xff_ff })), (units) => {
        const value = String.fromCharCode(...units);
        const [line = ""] = written("text", { error: value });
        expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
        expect(JSON.parse(line.slice('[service] llm.error roomCode="ROOM01" error='.length))).toBe(
          value,
        );
      }),
    );
  });

  test("of a warning or a bug is one line too", () => {
    const lines: string[] = [];
    const log = createLog("text", (line) => lines.push(String(line)));
    log.warn("careful", { address: "10.0.0.1\n" });
    log.bug("it broke", new Error("first\nsecond"));
    log.bug("it broke", "a string");
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).toMatch(/^\[service\] (?:warning|bug) [^\n]+\n$/);
    expect(lines[0]).toBe('[service] warning careful address="10.0.0.1\\n"\n');
    expect(lines[2]).toBe('[service] bug it broke "a string"\n');
  });
});

describe("a JSON line", () => {
  test.each(hostile)("stays one line of printable characters around %j", (value) => {
    const [line = "", ...more] = written("json", { error: value, code: "x" });
    expect(more).toEqual([]);
    expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
    expect((JSON.parse(line) as { error: string }).error.toWellFormed()).toBe(value.toWellFormed());
  });
});

test.each(["text", "json"] as const)("a bug leaves at once (%s)", (format) => {
  const done: string[] = [];
  const log = createLog(
    format,
    (line) => done.push(String(line)),
    () => done.push("flushed"),
  );
  log.event("llm.error", "ROOM01", {});
  log.warn("careful");
  expect(done).toHaveLength(2);
  log.bug("it broke", new Error("why"));
  expect(done[3]).toBe("flushed");
});

describe("a JSON line", () => {
  test("carries the prefix, the name and the fields", () => {
    const [line = ""] = written("json", { requestId: "req_1", status: 502, nickname: null });
    expect(line.endsWith("\n")).toBe(true);
    expect(JSON.parse(line)).toMatchObject({
      msg: expect.stringMatching(/^\[service\] llm\.error/) as string,
      requestId: "req_1",
      status: 502,
      nickname: null,
      time: expect.any(Number) as number,
    });
  });

  test.each(hostile)("stays one line around %j", (value) => {
    const [line = "", ...more] = written("json", { error: value });
    expect(more).toEqual([]);
    expect(line.indexOf("\n")).toBe(line.length - 1);
    expect(JSON.parse(line)).toMatchObject({ error: value });
  });

  test("hides what must never be there", () => {
    const secrets = {
      authHeaders: "CANARY",
      password: "CANARY",
      authorization: "CANARY",
      participantToken: "CANARY",
    };
    expect(written("json", secrets)[0]).not.toContain("CANARY");
  });
});

test("a silent log writes nothing", () => {
  const lines: string[] = [];
  const log = createLog("silent", (line) => lines.push(String(line)));
  log.event("llm.error", "ROOM01", {});
  log.warn("x");
  log.bug("x", new Error("x"));
  expect(lines).toEqual([]);
});

describe("the lines of one moment", () => {
  function waiting() {
    const written: string[] = [];
    const turns: (() => void)[] = [];
    const writer = createLineWriter(
      (lines) => written.push(lines),
      (flush) => turns.push(flush),
    );
    return { written, turns, writer };
  }

  test("are written together after it", () => {
    const { written, turns, writer } = waiting();
    writer.write("a\n");
    writer.write("b\n");
    expect([written.length, turns.length]).toEqual([0, 1]);
    turns[0]?.();
    writer.write("c\n");
    turns[1]?.();
    expect(written).toEqual(["a\nb\n", "c\n"]);
  });

  test("are written before that when they are many, or when a caller cannot wait", () => {
    const { written, turns, writer } = waiting();
    for (let line = 0; line < 255; line++) writer.write("x\n");
    expect(written).toEqual([]);
    writer.write("x\n");
    expect(written).toHaveLength(1);
    writer.write("a\n");
    writer.flush();
    for (const flush of turns) flush();
    expect(written).toEqual(["x\n".repeat(256), "a\n"]);
  });
});
