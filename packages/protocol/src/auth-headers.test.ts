import * as fc from "fast-check";
import { expect, test } from "vitest";
import { authHeaderProblem, authHeadersSchema } from "./auth-headers.ts";

const AuthHeaders = authHeadersSchema(16, 8_192);
import { LIMITS } from "./limits.ts";

function accepts(input: unknown): boolean {
  return AuthHeaders.safeParse(input).success;
}

test("names are lower-cased and values trimmed", () => {
  expect(AuthHeaders.parse({ Authorization: " Bearer sk-123 ", "X-Api-Key": "é" })).toEqual({
    authorization: "Bearer sk-123",
    "x-api-key": "é",
  });
});

test.each([
  "host",
  "connection",
  "proxy-connection",
  "keep-alive",
  "transfer-encoding",
  "te",
  "trailer",
  "upgrade",
  "content-length",
  "content-type",
  "content-encoding",
  "accept-encoding",
  "expect",
  "cookie2",
  "proxy-authorization",
  "proxy-anything",
  "sec-fetch-mode",
  "sec-websocket-key",
  "x-roomhub-hop",
  "__proto__",
  "constructor",
  "prototype",
  ":authority",
  ":path",
])("a participant may not set %s, in any letter case", (name) => {
  for (const spelled of [name, name.toUpperCase()]) {
    const input = JSON.parse(JSON.stringify({ placeholder: "x" }).replace("placeholder", spelled));
    expect(accepts(input)).toBe(false);
  }
});

test.each(["authorization", "x-api-key", "cookie", "api-key", "x.custom~1", "openai-organization"])(
  "a participant may set %s",
  (name) => {
    expect(accepts({ [name]: "value" })).toBe(true);
  },
);

test.each([
  ["an empty name", ""],
  ["a space", "x key"],
  ["a colon", "x:key"],
  ["a line end", "x-key\r\nhost"],
  ["a NUL", "x\u0000"],
  ["letters beyond ASCII", "x-schlüssel"],
  ["65 characters", "x".repeat(65)],
])("a header name with %s is refused", (_title, name) => {
  expect(accepts({ [name]: "value" })).toBe(false);
});

test.each([
  ["CR LF", "a\r\nhost: evil"],
  ["LF", "a\nb"],
  ["CR", "a\rb"],
  ["NUL", "a\u0000b"],
  ["a tab", "a\tb"],
  ["DEL", "a\u007fb"],
  ["a C1 control", "a\u0085b"],
  ["a letter beyond Latin-1", "a\u0141b"],
  ["nothing", ""],
  ["only spaces", "   "],
  ["4097 characters", "a".repeat(4_097)],
])("a header value with %s is refused, and is not repeated", (_title, value) => {
  const result = AuthHeaders.safeParse({ "x-key": value });
  expect(result.success).toBe(false);
  expect(result.error?.issues[0]?.path).toEqual(["x-key"]);
  if (value.trim().length > 2) expect(result.error?.message).not.toContain(value);
});

test.each([[null], [12], ["Bearer x"], [["authorization", "x"]], [true]])(
  "%j is not valid as authHeaders",
  (input) => {
    expect(accepts(input)).toBe(false);
  },
);

test.each([[12], [null], [["a", "b"]], [{ a: "b" }], [true]])(
  "%j is not a header value",
  (value) => {
    expect(accepts({ "x-key": value })).toBe(false);
  },
);

test("two names that differ only in letter case are refused", () => {
  expect(accepts({ Authorization: "a", authorization: "b" })).toBe(false);
});

test("16 headers are accepted, 17 are not", () => {
  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "v"]));
  expect(accepts(headers(LIMITS.authHeaders.default))).toBe(true);
  expect(accepts(headers(LIMITS.authHeaders.default + 1))).toBe(false);
});

test("a name of 64 and a value of 4096 characters are accepted", () => {
  expect(accepts({ ["x".repeat(64)]: "v".repeat(4_096) })).toBe(true);
});

test("8192 bytes of names and values are accepted, 8193 are not", () => {
  const headers = (lastLength: number) => ({
    a: "v".repeat(4_000),
    b: "v".repeat(4_000),
    c: "v".repeat(lastLength),
  });
  expect(accepts(headers(LIMITS.authHeaderBytes.default - 8_003))).toBe(true);
  expect(accepts(headers(LIMITS.authHeaderBytes.default - 8_002))).toBe(false);
});

test("the problem names the header and not its value", () => {
  expect(authHeaderProblem("X-Key", "swordfish\n")).toContain("x-key");
  expect(authHeaderProblem("X-Key", "swordfish\n")).not.toContain("swordfish");
  expect(authHeaderProblem("X-Key", "swordfish")).toBeUndefined();
});

test("accepted headers are tokens and printable Latin-1, one line per name", () => {
  const anyText = fc.string({
    unit: fc.integer({ min: 0, max: 0x17f }).map((code) => String.fromCharCode(code)),
  });
  const nearlyGood = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "B", "-", ":", "\r", "\n", " ", "_") }),
    anyText,
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(nearlyGood, nearlyGood), { maxLength: 4 }), (pairs) => {
      const result = AuthHeaders.safeParse(Object.fromEntries(pairs));
      if (!result.success) return;
      for (const [name, value] of Object.entries(result.data)) {
        expect(name).toMatch(/^[a-z0-9!#$%&'*+.^_|~-]{1,64}$/);
        expect(value).toMatch(/^[\x20-\x7e\xa0-\xff]+$/);
        expect(() => new Headers({ [name]: value })).not.toThrow();
      }
    }),
    { numRuns: 2_000 },
  );
});
