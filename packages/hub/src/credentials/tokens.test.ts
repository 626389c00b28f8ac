import { systemWorld } from "@roomhub/protocol";
import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  credentialsFrom,
  digestOf,
  isOperator,
  matchesToken,
  mintClientKey,
  mintHostToken,
  mintToken,
} from "./tokens.ts";

type Headers = Parameters<typeof credentialsFrom>[0];
const tokenFrom = (headers: Headers) => credentialsFrom(headers).token;
const hostTokenFrom = (headers: Headers) => credentialsFrom(headers).hostToken;

const world = {
  ...systemWorld,
  randomBytes: (count: number) => new Uint8Array(count).fill(7),
};

test("a token is rhp_ and 32 random bytes in base64url, and what is kept is its SHA-256", () => {
  const { token, digest } = mintToken(world);
  expect(token.reveal()).toBe(`rhp_${Buffer.alloc(32, 7).toString("base64url")}`);
  expect(Buffer.from(digest)).toEqual(createHash("sha256").update(token.reveal()).digest());
});

test("a client key is rhc_ and 32 random bytes in base64url, and no participant token", () => {
  const { token, digest } = mintClientKey(world);
  expect(token.reveal()).toBe(`rhc_${Buffer.alloc(32, 7).toString("base64url")}`);
  expect(matchesToken(token.reveal(), digest)).toBe(true);
  expect(tokenFrom({ authorization: `Bearer ${token.reveal()}` })).toBeUndefined();
});

test("a host token is rhh_ and 32 random bytes in base64url, and no participant token", () => {
  const { token, digest } = mintHostToken(world);
  const text = token.reveal();
  expect(text).toBe(`rhh_${Buffer.alloc(32, 7).toString("base64url")}`);
  expect(matchesToken(text, digest)).toBe(true);
  expect(hostTokenFrom({ authorization: `Bearer ${text}` })).toBe(text);
  expect(hostTokenFrom({ "x-host-token": text, authorization: "Bearer rhp_x" })).toBe(text);
  expect(hostTokenFrom({ authorization: "Bearer sk-1", "x-host-token": "sk-2" })).toBeUndefined();
  expect(tokenFrom({ authorization: `Bearer ${text}` })).toBeUndefined();
});

test("a minted token cannot be printed by accident", () => {
  const minted = mintToken(systemWorld);
  expect(JSON.stringify({ token: minted.token })).toBe('{"token":"[redacted]"}');
});

test("a token matches its own digest and no other", () => {
  const one = mintToken(systemWorld);
  const other = mintToken(systemWorld);
  expect(matchesToken(one.token.reveal(), one.digest)).toBe(true);
  expect(matchesToken(other.token.reveal(), one.digest)).toBe(false);
  expect(matchesToken(undefined, one.digest)).toBe(false);
  expect(matchesToken("", one.digest)).toBe(false);
  expect(matchesToken(one.token.reveal(), new Uint8Array(0))).toBe(false);
});

test.each([
  ["a bearer token", { authorization: "Bearer rhp_abc" }, "rhp_abc"],
  ["any letter case of Bearer", { authorization: "bEaReR   rhp_abc" }, "rhp_abc"],
  ["the header of its own", { "x-participant-token": "rhp_abc" }, "rhp_abc"],
  [
    "the header of its own before Authorization",
    { authorization: "Bearer rhp_one", "x-participant-token": " rhp_two " },
    "rhp_two",
  ],
  [
    "Authorization when the other header is no token",
    { authorization: "Bearer rhp_one", "x-participant-token": "none" },
    "rhp_one",
  ],
  ["the first of a repeated header", { "x-participant-token": ["rhp_one", "rhp_two"] }, "rhp_one"],
  ["nothing from an unrelated API key", { authorization: "Bearer sk-123" }, undefined],
  ["nothing from another scheme", { authorization: "Basic rhp_abc" }, undefined],
  ["nothing from a bare token in Authorization", { authorization: "rhp_abc" }, undefined],
  ["nothing from a key beside a token", { authorization: "Bearer rhp_abc x" }, undefined],
  ["nothing from no headers", {}, undefined],
])("a request gives %s", (_title, headers, expected) => {
  expect(tokenFrom(headers)).toBe(expected);
});

test("whatever a request carries, only values beginning with rhp_ are judged", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (authorization, own) => {
      const token = tokenFrom({ authorization, "x-participant-token": own });
      expect(token === undefined || token.startsWith("rhp_")).toBe(true);
    }),
  );
});

test.each([
  [{ authorization: "Bearer rhk_a" }, ["rhk_a"]],
  [{ authorization: "bearer  rhk_a", "x-api-key": "rhk_a", "api-key": " rhk_a " }, ["rhk_a"]],
  [{ "x-api-key": "rhk_a" }, ["rhk_a"]],
  [{ "api-key": "rhk_a" }, ["rhk_a"]],
  [{ authorization: "Bearer as-bob", "x-api-key": "rhk_a" }, ["rhk_a"]],
  [{ authorization: "Bearer rhk_a", "x-api-key": "rhk_b" }, ["rhk_a", "rhk_b"]],
  [{ authorization: "rhk_a" }, []],
  [{ authorization: "Basic rhk_a" }, []],
  [{ authorization: "Bearer RHK_a", "x-participant-token": "rhk_a" }, []],
])("the keys in %j are %j", (headers, keys) => {
  expect(credentialsFrom(headers).keys).toEqual(keys);
});

test("the operator is known by the secret in x-roomhub-admin, where there is one", () => {
  const digest = digestOf("secret");
  expect(isOperator({ "x-roomhub-admin": "secret" }, digest)).toBe(true);
  expect(isOperator({ "x-roomhub-admin": "Secret" }, digest)).toBe(false);
  expect(isOperator({ authorization: "Bearer secret" }, digest)).toBe(false);
  expect(isOperator({ "x-roomhub-admin": "" }, undefined)).toBe(false);
});
