import { expect, test } from "vitest";
import { inviteLines } from "./invite-lines.ts";

const room = "ABC234";

test("the lines name the room's URL, and get the program from its hub", () => {
  const hub = { hubUrl: "https://hub.example/x", isHandedOut: true };
  const texts = inviteLines(hub, room, "https://page/").map(({ text }) => text);
  expect(texts[0]).toBe(
    "npx -y https://hub.example/x/roomhub.tgz join https://hub.example/x/rooms/ABC234",
  );
  expect(texts[1]).toContain("https://hub.example/x/rooms/ABC234/v1/chat/completions");
  expect(texts[2]).toContain("OPENAI_BASE_URL=https://hub.example/x/rooms/ABC234/v1");
  expect(texts.at(-1)).toBe("https://hub.example/x/rooms/ABC234/watch");
});

test("of a hub that hands out nothing they name an installed command, and this page", () => {
  const hub = { hubUrl: "https://hub.example/x", isHandedOut: false };
  const texts = inviteLines(hub, room, "https://page/").map(({ text }) => text);
  expect(texts[0]).toBe("roomhub join https://hub.example/x/rooms/ABC234");
  expect(texts.at(-1)).toBe("https://page/");
});
