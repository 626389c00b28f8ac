import { expect, test } from "vitest";
import {
  inviteUrl,
  isForOthers,
  joinLine,
  pastedHub,
  programLine,
  sdkLine,
  shellWord,
} from "./pasted-lines.ts";

const hub = { hubUrl: "https://h.example/lab", isHandedOut: true };
const bare = { ...hub, isHandedOut: false };

test("a line for another machine gets program and SDK from the hub, whether a registry has them or not", () => {
  expect(joinLine(hub, "ABC234")).toBe(
    "npx -y https://h.example/lab/roomhub.tgz join https://h.example/lab/rooms/ABC234",
  );
  expect(joinLine(hub, "ABC234", "1.2.3")).toBe(
    "npx -y https://h.example/lab/roomhub-1.2.3.tgz join https://h.example/lab/rooms/ABC234",
  );
  expect(programLine(hub, undefined, true)).toBe(programLine(hub, undefined, false));
  expect(sdkLine(hub)).toBe("npm install https://h.example/lab/roomhub-client.tgz");
});

test("of a hub that hands out nothing, a line needs an installed command, and a registry only one that has us", () => {
  expect(joinLine(bare, "ABC234")).toBe("roomhub join https://h.example/lab/rooms/ABC234");
  expect(programLine(bare, "1.2.3", false)).toBe("roomhub");
  expect(programLine(bare, undefined, true)).toBe("npx -y roomhub");
  expect(programLine(bare, "1.2.3", true)).toBe("npx -y roomhub@1.2.3");
  expect([sdkLine(bare, false), sdkLine(bare, true)]).toEqual([
    undefined,
    "npm install @roomhub/client",
  ]);
});

test.each([
  ["http://192.168.1.5:5050/rooms/ABC234", "http://192.168.1.5:5050/rooms/ABC234"],
  ["http://[::1]:5050", "'http://[::1]:5050'"],
  ["https://hub.example/$(id)", "'https://hub.example/$(id)'"],
  ["it's", String.raw`'it'\''s'`],
])("a shell reads %j as one word: %s", (text, word) => {
  expect(shellWord(text)).toBe(word);
});

test.each([
  ["http://127.0.0.1:5050", "http://192.168.1.5:5050/", "http://192.168.1.5:5050"],
  ["http://10.0.0.2:5050", "http://192.168.1.5:5050", "http://10.0.0.2:5050"],
  ["http://127.0.0.1:5050", "http://127.0.0.1:5050", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050", "javascript:alert(1)", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050", "http://[", "http://127.0.0.1:5050"],
  ["http://127.0.0.1:5050", undefined, "http://127.0.0.1:5050"],
])("a hub known as %s, which others know as %s, is pasted as %s", (hubUrl, url, pasted) => {
  expect(pastedHub(hubUrl, { url })).toEqual({ hubUrl: pasted, isHandedOut: false });
});

test.each([
  ["http://127.0.0.1:5050", false],
  ["http://localhost", false],
  ["http://[::1]:5050", false],
  ["http://192.168.1.5:5050", true],
  ["https://localhost.example", true],
])("others can use %s: %s", (url, expected) => {
  expect(isForOthers(url)).toBe(expected);
});

test("an invite pins the key of a hub that has a certificate of its own, and curl gets npm its program by that key", () => {
  const pin = `sha256-${"a".repeat(41)}-_`;
  const pinned = { hubUrl: "http://192.168.1.5:5050", isHandedOut: true, pin };
  const secure = { ...pinned, hubUrl: "https://192.168.1.5:5050" };
  const curl = `curl -k --pinnedpubkey sha256//${"a".repeat(41)}+/= -fsSO https://192.168.1.5:5050`;
  expect(inviteUrl(hub, "ABC234")).toBe("https://h.example/lab/rooms/ABC234");
  for (const one of [pinned, secure]) {
    expect(joinLine(one, "ABC234")).toBe(
      `${curl}/roomhub.tgz && npx -y ./roomhub.tgz join '${one.hubUrl}/rooms/ABC234#pin=${pin}'`,
    );
    expect(joinLine(one, "ABC234", "1.2.3")).toContain("npx -y ./roomhub-1.2.3.tgz join '");
    expect(sdkLine(one)).toBe(`${curl}/roomhub-client.tgz && npm install ./roomhub-client.tgz`);
  }
  expect(joinLine({ ...secure, isHandedOut: false }, "ABC234")).toBe(
    `roomhub join 'https://192.168.1.5:5050/rooms/ABC234#pin=${pin}'`,
  );
});
