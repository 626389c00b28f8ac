import { expect, test } from "vitest";
import {
  answered,
  asked,
  askedAgain,
  asMarkdown,
  commands,
  messagesOf,
  newConversation,
  readLine,
} from "./conversation.ts";

const twoTurns = answered(
  asked(answered(asked(newConversation, "Hi"), "Hello!", "ana"), "Why?"),
  "Because",
  undefined,
);

test("the messages of a conversation are its turns in order, after the system prompt", () => {
  expect(messagesOf(asked({ ...twoTurns, system: "Be brief" }, "And?"))).toEqual([
    { role: "system", content: "Be brief" },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello!" },
    { role: "user", content: "Why?" },
    { role: "assistant", content: "Because" },
    { role: "user", content: "And?" },
  ]);
});

test("a prompt that got no answer is left out when another follows, since roles alternate", () => {
  const failed = asked(twoTurns, "lost");
  expect(answered(failed, "", undefined)).toBe(failed);
  expect(messagesOf(asked(failed, "next"))).toEqual([
    ...messagesOf(twoTurns),
    { role: "user", content: "next" },
  ]);
});

test("a part of an answer is kept, and a retry replaces it", () => {
  const partial = answered(asked(newConversation, "Hi"), "Hel", undefined);
  expect(messagesOf(asked(partial, "go on"))).toHaveLength(3);
  const again = askedAgain(partial);
  expect(again && messagesOf(again)).toEqual([{ role: "user", content: "Hi" }]);
  expect(askedAgain(newConversation)).toBeUndefined();
});

test("a retry after a failure sends the same prompt after the same turns", () => {
  const failed = asked(twoTurns, "lost");
  expect(askedAgain(failed)).toEqual(failed);
});

test("a conversation is saved as Markdown, with who answered", () => {
  expect(asMarkdown(asked({ ...twoTurns, system: "Be brief" }, "And?"), "Room ABC234")).toBe(
    [
      ...["# Room ABC234", "## System", "Be brief", "## You", "Hi", "## ana", "Hello!"],
      ...["## You", "Why?", "## Answer", "Because", "## You", "And?\n"],
    ].join("\n\n"),
  );
});

test.each([
  ["", { kind: "empty" }],
  [" \n", { kind: "empty" }],
  ["Why?", { kind: "message", text: "Why?" }],
  ["a\n/exit", { kind: "message", text: "a\n/exit" }],
  ["/etc/hosts has what?", { kind: "message", text: "/etc/hosts has what?" }],
  [" /exit", { kind: "message", text: " /exit" }],
  ["/2", { kind: "message", text: "/2" }],
  ["/exit", { kind: "command", name: "exit", rest: "" }],
  ["/Model  llama3.2:3b ", { kind: "command", name: "model", rest: "llama3.2:3b" }],
  ["/system one\ntwo", { kind: "command", name: "system", rest: "one\ntwo" }],
  ["/sytem x", { kind: "unknown", name: "sytem", near: "system" }],
  ["/frobnicate", { kind: "unknown", name: "frobnicate", near: undefined }],
])("%j is read as %j", (text, line) => {
  expect(readLine(text)).toEqual(line);
});

test("every command is read as one", () => {
  for (const { name } of commands) expect(readLine(`/${name}`)).toMatchObject({ name });
});
