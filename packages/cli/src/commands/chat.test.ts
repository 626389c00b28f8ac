import { expect, test } from "vitest";
import { mayBeCode, readChatArguments } from "./chat.ts";
import { makeWorld } from "../test-context.fixture.ts";

const { context } = makeWorld();

test.each([
  [[undefined, undefined, undefined], { room: undefined, prompt: undefined }],
  [["Why?", undefined, undefined], { room: undefined, prompt: "Why?" }],
  [["ABC234", undefined, undefined], { room: "ABC234", prompt: undefined }],
  [["abc234", undefined, undefined], { room: "abc234", prompt: undefined }],
  [["THANKS", undefined, undefined], { room: "THANKS", prompt: undefined }],
  [["thanks", undefined, undefined], { room: undefined, prompt: "thanks" }],
  [["Thanks", undefined, undefined], { room: undefined, prompt: "Thanks" }],
  [["ABC2O4", undefined, undefined], { room: undefined, prompt: "ABC2O4" }],
  [["-", undefined, undefined], { room: undefined, prompt: "-" }],
  [["ABC234", undefined, "XYZ789"], { room: "XYZ789", prompt: "ABC234" }],
  [["Why?", undefined, "ABC234"], { room: "ABC234", prompt: "Why?" }],
  [["ABC234", "Why?", undefined], { room: "ABC234", prompt: "Why?" }],
  [["abc234", "-", undefined], { room: "abc234", prompt: "-" }],
  [["hub:5050/rooms/ABC234", "Why?", undefined], { room: "hub:5050/rooms/ABC234", prompt: "Why?" }],
] as const)("%j is read as %j", ([first, second, option], words) => {
  expect(readChatArguments(context, first, second, option)).toEqual(words);
});

test.each<[string, string, string | undefined]>([
  ["Why", "not?", undefined],
  ["ABC23", "Why?", undefined],
  ["ABCDEFG", "Why?", undefined],
  ["ABC2O4", "Why?", undefined],
  ["ABC234", "Why?", "ABC234"],
])(
  "%j %j beside --room %j is a wrong command line, with the right one",
  (first, second, option) => {
    expect(() => readChatArguments(context, first, second, option)).toThrow(
      /: roomhub chat (--room )?ABC234 "Why\?"$/,
    );
  },
);

test.each([
  ["http://hub:5050/rooms/ABC234", true],
  ["https://hub/x/rooms/ABC234/v1/", true],
  ["hub:5050/rooms/ABC234", true],
  ["http://hub:5050", true],
  ["https://hub/", true],
  ["what is at http://hub:5050/rooms/ABC234", false],
  ["http://hub:5050 is what?", false],
  ["https://example.com/a/page", false],
])("%s alone is the room: %s", (text, isRoom) => {
  const { room, prompt } = readChatArguments(context, text, undefined, undefined);
  expect([room, prompt]).toEqual(isRoom ? [text, undefined] : [undefined, text]);
});

test.each([
  ["thanks", true],
  ["Abc234 ", true],
  ["hello", false],
  ["thanks!", false],
])("%j may be a code of the hub: %s", (text, mayBe) => {
  expect(mayBeCode(text)).toBe(mayBe);
});
