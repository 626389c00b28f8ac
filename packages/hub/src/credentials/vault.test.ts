import { inspect } from "node:util";
import { expect, test } from "vitest";
import { AuthHeaderVault } from "./vault.ts";

const origin = "http://127.0.0.1:11434";

test("headers come back for the owner and the origin they were given for", () => {
  const vault = new AuthHeaderVault();
  vault.put("p1", origin, { authorization: "Bearer sk-canary" });
  expect(vault.headersFor("p1", origin)).toEqual({ authorization: "Bearer sk-canary" });
});

test("another owner and another origin get nothing", () => {
  const vault = new AuthHeaderVault();
  vault.put("p1", origin, { authorization: "Bearer sk-canary" });
  expect(vault.headersFor("p2", origin)).toEqual({});
  expect(vault.headersFor("p1", "http://127.0.0.1:11435")).toEqual({});
  expect(vault.headersFor("p1", "https://127.0.0.1:11434")).toEqual({});
});

test("a put replaces all that was there, and an empty one drops it", () => {
  const vault = new AuthHeaderVault();
  vault.put("p1", origin, { authorization: "one", "x-key": "two" });
  vault.put("p1", "https://api.example", { authorization: "three" });
  expect(vault.headersFor("p1", "https://api.example")).toEqual({ authorization: "three" });
  expect(vault.headersFor("p1", origin)).toEqual({});
  vault.put("p1", origin, {});
  expect(vault.has("p1")).toBe(false);
});

test("dropped headers are no longer there", () => {
  const vault = new AuthHeaderVault();
  vault.put("p1", origin, { authorization: "one" });
  expect(vault.drop("p1")).toBe(true);
  expect(vault.drop("p1")).toBe(false);
  expect(vault.headersFor("p1", origin)).toEqual({});
  expect(vault.secretsOf("p1")).toEqual([]);
});

test("what is in the vault does not change with the object that was put in, nor can a reader change it", () => {
  const vault = new AuthHeaderVault();
  const headers = { authorization: "one" };
  vault.put("p1", origin, headers);
  headers.authorization = "two";
  expect(vault.headersFor("p1", origin)).toEqual({ authorization: "one" });
  expect(Object.isFrozen(vault.headersFor("p1", origin))).toBe(true);
});

test("the secrets to scrub are the values", () => {
  const vault = new AuthHeaderVault();
  vault.put("p1", origin, { authorization: "Bearer sk-canary", "x-key": "a plain key" });
  expect(vault.secretsOf("p1")).toEqual(["Bearer sk-canary", "a plain key"]);
});

test("printing the vault shows nothing", () => {
  const vault = new AuthHeaderVault();
  vault.put("p1", origin, { authorization: "Bearer sk-canary" });
  const printed = [
    inspect(vault, { depth: null, showHidden: true }),
    inspect({ deps: { vault } }, { depth: null }),
    JSON.stringify({ vault }),
    String(vault),
    JSON.stringify(Object.entries(vault)),
  ].join("\n");
  expect(printed).not.toContain("canary");
});
