import { expect, test } from "vitest";
import type { CliContext } from "../context.ts";
import { displayWidth } from "../terminal/display-width.ts";
import { qrCode } from "./invite-text.ts";
import { capture, makeWorld } from "../test-context.fixture.ts";

const invite = "http://192.168.1.5:5050/rooms/ABC234";

function drawn(
  columns: number | undefined,
  env: CliContext["env"] = { NO_COLOR: "1" },
  rowsBeside = 7,
): string {
  return qrCode(makeWorld({ env }).context, capture(columns, 24), invite, rowsBeside);
}

test("it fits between its margins: 29 modules and two of quiet zone on each side", () => {
  const lines = drawn(80).trimEnd().split("\n");
  expect(lines.map(displayWidth)).toEqual(Array.from({ length: 17 }, () => 35));
  expect(lines[1]).toMatch(/^ {2}██ ▄▄▄▄▄ █.*█ ▄▄▄▄▄ ██$/);
  expect(drawn(80)).not.toContain("\u001b");
});

test("with colours it is light on dark whatever the terminal is", () => {
  expect(drawn(80, {}).split("\n")[0]).toBe(
    `  \u001b[40m\u001b[97m${"█".repeat(33)}\u001b[39m\u001b[49m`,
  );
});

test.each([
  ["a pipe", undefined, {}],
  ["a narrow terminal", 35, {}],
  ["a dumb terminal", 80, { TERM: "dumb" }],
])("there is none in %s", (_name, columns, env) => {
  expect(drawn(columns, env)).toBe("");
});

test("on a screen without rows for it and what has to stay beside it there is none", () => {
  expect(drawn(80, {}, 7)).not.toBe("");
  expect(drawn(80, {}, 8)).toBe("");
});

test("one column more than it needs is enough", () => {
  expect(drawn(36)).not.toBe("");
});
