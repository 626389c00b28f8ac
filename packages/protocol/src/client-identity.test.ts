import { expect, test } from "vitest";
import { isClientName } from "./client-identity.ts";
import { clientText } from "./client-text.ts";

test("a client name has up to 32 letters, digits, dots, underscores and hyphens, and begins with a letter or digit", () => {
  for (const name of ["alice", "A", "7", "a.b_c-d", "a".repeat(32)]) {
    expect(isClientName(name), name).toBe(true);
  }
  for (const text of ["", "-a", ".a", "a b", "a@b.example", "ä", "a/b", "a\n", "a".repeat(33)]) {
    expect(isClientName(text), JSON.stringify(text)).toBe(false);
  }
});

test("a client is one word, and a user comes behind the client that names it", () => {
  expect(clientText({ kind: "name", id: "alice" })).toBe("alice");
  expect(clientText({ kind: "key", id: "5f0c1a2b" })).toBe("key:5f0c1a2b");
  expect(clientText({ kind: "key", id: "5f0c1a2b", user: "bob" })).toBe("key:5f0c1a2b/bob");
  expect(clientText({ kind: "none", id: "", user: "bob" })).toBe("/bob");
});

test("a client that reveals nothing has no text", () => {
  expect(clientText({ kind: "none", id: "" })).toBeUndefined();
  expect(clientText(undefined)).toBeUndefined();
});
