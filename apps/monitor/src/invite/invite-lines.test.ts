import { expect, test } from "vitest";
import { inviteLines, isForOthers } from "./invite-lines.ts";

test("the lines name the room's URL", () => {
  const invite = { hubUrl: "https://hub.example/x", room: "ABC234" };
  const texts = inviteLines(invite, "https://page/").map(({ text }) => text);
  expect(texts[0]).toBe("npx roomhub join https://hub.example/x/rooms/ABC234");
  expect(texts[1]).toContain("https://hub.example/x/rooms/ABC234/v1/chat/completions");
  expect(texts[2]).toContain("OPENAI_BASE_URL=https://hub.example/x/rooms/ABC234/v1");
  expect(texts.at(-1)).toBe("https://page/");
});

test.each([
  ["http://127.0.0.1:5050", false],
  ["http://localhost", false],
  ["http://[::1]:5050", false],
  ["http://192.168.1.5:5050", true],
  ["https://localhost.example", true],
])("a hub at %s is for others: %s", (hubUrl, expected) => {
  expect(isForOthers({ hubUrl, room: "ABC234" })).toBe(expected);
});
