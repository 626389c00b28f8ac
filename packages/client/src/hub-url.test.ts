import { expect, test } from "vitest";
import { InvalidHubUrlError, keyInLink, normaliseHubUrl, parseInvite } from "./hub-url.ts";

test.each([
  ["http://127.0.0.1:5050", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050/", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050/v1", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050/v1/", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050/rooms/abc234", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050/rooms/ABC234/v1/chat/completions", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050/v1/rooms/ABC234", "http://127.0.0.1:5050"],
  ["https://example.org/hub/rooms/ABC234/v1", "https://example.org/hub"],
  ["https://example.org/hub/v1", "https://example.org/hub"],
  ["192.168.1.5:5050", "http://192.168.1.5:5050"],
  ["localhost:5050", "http://localhost:5050"],
  [" http://[::1]:5050/ ", "http://[::1]:5050"],
  ['"http://127.0.0.1:5050/v1"', "http://127.0.0.1:5050"],
  ["<http://127.0.0.1:5050>.", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050/v1/chat/completions", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050/v1/v1", "http://127.0.0.1:5050"],
])("the hub URL %j is normalised to %s", (typed, hubUrl) => {
  expect(normaliseHubUrl(typed)).toBe(hubUrl);
});

test.each(["", "ftp://example.org", "http://", "http://user:secret@example.org"])(
  "%j is refused as a hub URL",
  (typed) => {
    expect(() => normaliseHubUrl(typed)).toThrow(InvalidHubUrlError);
  },
);

test("the error for a hub URL with a password does not repeat it", () => {
  expect(() => normaliseHubUrl("http://user:secret@example.org")).not.toThrow(/secret/);
});

test.each([
  ["abc234", "http://hub:5050", "ABC234"],
  ["http://other:6060/rooms/abc234", "http://other:6060", "ABC234"],
  ["http://other:6060/rooms/ABC234/v1", "http://other:6060", "ABC234"],
  ["http://other:6060/rooms/ABC234/v1/", "http://other:6060", "ABC234"],
  ["other:6060/rooms/ABC234", "http://other:6060", "ABC234"],
  ["http://other:6060/rooms/ABC234/v1/v1", "http://other:6060", "ABC234"],
  ["http://other:6060/rooms/ABC234/chat/completions", "http://other:6060", "ABC234"],
  ["http://other:6060/v1/rooms/ABC234/v1/chat/completions", "http://other:6060", "ABC234"],
  ["http://other:6060/rooms/ABC234/v1/chat/completions\n", "http://other:6060", "ABC234"],
  ["http://other:6060/rooms/ABC234%20/v1", "http://other:6060", "ABC234"],
  [" 'abc234' ", "http://hub:5050", "ABC234"],
  ["“http://other:6060/rooms/ABC234”,", "http://other:6060", "ABC234"],
  ["https://example.org/hub/v1/rooms/ABC234/chat/completions", "https://example.org/hub", "ABC234"],
])("the invitation %j means the hub %s and the room %s", (text, hubUrl, room) => {
  expect(parseInvite(text, "http://hub:5050/v1")).toEqual({ hubUrl, room });
});

test.each(["", "http://hub:5050", "http://hub:5050/rooms/", "not a room", "-abc"])(
  "the invitation %j is refused",
  (text) => {
    expect(() => parseInvite(text, "http://hub:5050")).toThrow(InvalidHubUrlError);
  },
);

test.each([
  ["http://hub:5050/abc234", "like http://hub:5050/rooms/ABC234"],
  ["http://hub:5050/v1", "is not a room URL"],
  ["Ana's lab", "is not a room code"],
  ["http://hub:5050/rooms/Ana's%20lab/v1", '"Ana\'s lab" is not a room code'],
])("the invitation %j is rejected with a valid form: %s", (text, message) => {
  expect(() => parseInvite(text, "http://hub:5050")).toThrow(message);
});

test("the page that watches a room names it, and a key in its fragment is left out of results and messages", () => {
  const value = `rhk_${"k".repeat(43)}`;
  const link = `http://10.0.0.9:5050/hub/monitor/?room=ABC234#key=${value}`;
  expect(parseInvite(link, "")).toEqual({ hubUrl: "http://10.0.0.9:5050/hub", room: "ABC234" });
  expect(keyInLink(link)).toBe(value);
  expect(keyInLink("http://10.0.0.9:5050/rooms/ABC234")).toBeUndefined();
  expect(() => parseInvite(`nonsense#key=${value}`, "")).toThrow(/^(?!.*rhk_)/s);
});
