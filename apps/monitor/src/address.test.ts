import { expect, test } from "vitest";
import { readAddress } from "./address.ts";

const local = "http://127.0.0.1:5051/";

test("hub and room come from the query", () => {
  expect(readAddress(`${local}?hub=http://10.0.0.2:5050/&room=abc234`)).toEqual({
    kind: "room",
    hubUrl: "http://10.0.0.2:5050",
    room: "ABC234",
  });
});

test("an invite URL names its hub, and a bare code is of the hub on this machine", () => {
  const invite = encodeURIComponent("https://hub.example/x/rooms/ABC234/v1");
  const hubUrl = "https://hub.example/x";
  expect(readAddress(`${local}?room=${invite}`)).toEqual({ kind: "room", hubUrl, room: "ABC234" });
  expect(readAddress(`${local}?room=ABC234`)).toMatchObject({ hubUrl: "http://127.0.0.1:5050" });
});

test("on a page that a hub hands out, a bare code is of that hub", () => {
  const page = "https://hub.example/x/monitor/?hub=&room=ABC234#try";
  expect(readAddress(page)).toMatchObject({ kind: "room", hubUrl: "https://hub.example/x" });
});

test("a link without a room, and one with text that is none, are explained", () => {
  expect(readAddress(local)).toMatchObject({ kind: "none" });
  expect(readAddress(`${local}?hub=http://10.0.0.2:5050`)).toEqual({
    kind: "none",
    hubUrl: "http://10.0.0.2:5050",
  });
  const invalid = readAddress(`${local}?room=${encodeURIComponent("javascript://x/rooms/AB")}`);
  expect(invalid).toMatchObject({ kind: "invalid", message: expect.stringContaining("http") });
});

test.each([
  ["https://pages.example/", "http://10.0.0.2:5050", "mixed-content"],
  ["https://pages.example/", "http://hub.local:5050", "mixed-content"],
  ["https://pages.example/", "http://127.0.0.1:5050", "room"],
  ["https://pages.example/", "http://localhost:5050", "room"],
  ["https://pages.example/", "http://[::1]:5050", "room"],
  ["https://pages.example/", "https://hub.example", "room"],
  [local, "http://10.0.0.2:5050", "room"],
])("a page at %s and a hub at %s are %s", (page, hub, kind) => {
  expect(readAddress(`${page}?hub=${hub}&room=ABC234`).kind).toBe(kind);
});
