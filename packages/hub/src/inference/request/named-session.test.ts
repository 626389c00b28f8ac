import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { namedSession } from "./named-session.ts";
import { RequestBodyReader } from "./request-head.ts";

function sessionOf(headers: Record<string, string>, fields: object = {}): string | undefined {
  const reader = new RequestBodyReader(64, true, crc32);
  reader.push(Buffer.from(JSON.stringify({ model: "m", ...fields })));
  return namedSession(headers, reader.end());
}

const uuid = "5f9a4a3e-6d0f-4c3e-9f0a-0d6c8c6b7a11";

describe("a session is named by", () => {
  test.each([
    "x-session-id",
    "session-id",
    "session_id",
    "x-claude-code-session-id",
    "x-session-affinity",
    "x-opencode-session",
    "x-openwebui-chat-id",
  ])("the header %s", (name) => {
    expect(sessionOf({ [name]: "s1" })).toBe("s1");
  });

  test("the field prompt_cache_key", () => {
    expect(sessionOf({}, { prompt_cache_key: "k1" })).toBe("k1");
  });

  test.each([
    ["a text that ends in _session_<uuid>", `user_abc_account__session_${uuid}`],
    ["JSON with a session_id", JSON.stringify({ device_id: "d", session_id: uuid })],
  ])("metadata.user_id that is %s", (_what, userId) => {
    expect(sessionOf({}, { metadata: { user_id: userId } })).toBe(uuid);
  });

  test("the first of them that there is", () => {
    const fields = { prompt_cache_key: "key", metadata: { user_id: `_session_${uuid}` } };
    expect(sessionOf({ session_id: "codex", "x-session-id": "first" }, fields)).toBe("first");
    expect(sessionOf({ session_id: "codex" }, fields)).toBe("codex");
    expect(sessionOf({}, fields)).toBe("key");
  });
});

test.each([
  ["nothing", {}],
  ["a plain user id", { metadata: { user_id: "alice" } }],
  ["metadata of another form", { metadata: ["user_id"] }],
  ["an empty key", { prompt_cache_key: "" }],
  ["a number", { prompt_cache_key: 7 }],
  ["more than 256 bytes", { prompt_cache_key: "ü".repeat(129) }],
])("no session is named by %s", (_what, fields) => {
  expect(sessionOf({}, fields)).toBeUndefined();
});

test("a value of over 256 bytes leaves the next one to name it", () => {
  expect(sessionOf({ "x-session-id": "x".repeat(257) }, { prompt_cache_key: "k" })).toBe("k");
});
