import { inspect } from "node:util";
import { expect, test } from "vitest";
import { Secret } from "./secret.ts";

test("a secret is redacted by String, template, JSON and inspect, alone and inside other values", () => {
  const secret = new Secret("swordfish");
  expect(String(secret)).toBe("[redacted]");
  expect([secret].join("")).toBe("[redacted]");
  expect(JSON.stringify({ secret })).toBe('{"secret":"[redacted]"}');
  expect(inspect({ list: [secret] }, { depth: null, showHidden: true })).not.toContain("swordfish");
});

test("a copy of a secret holds nothing", () => {
  const secret = new Secret("swordfish");
  expect(Object.assign({}, secret)).toEqual({});
  expect(JSON.stringify(structuredClone(secret))).toBe("{}");
});

test("reveal gives back the text as it was", () => {
  expect(new Secret(" sword\u0000fish\n").reveal()).toBe(" sword\u0000fish\n");
});
