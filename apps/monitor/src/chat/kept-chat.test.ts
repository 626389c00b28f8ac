import { expect, test } from "vitest";
import { type ChatState, emptyChat, withPrompt } from "./chat-state.ts";
import { keptChat } from "./kept-chat.ts";

function storageWith(entries: Record<string, string> = {}) {
  const stored = new Map(Object.entries(entries));
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key),
  } as Storage;
  return { stored, storageOf: () => storage };
}

test("a chat is read as it was saved, and what was running has stopped", () => {
  const { stored, storageOf } = storageWith();
  const store = keptChat(storageOf, "chat");
  const chat: ChatState = withPrompt(emptyChat(), "why?");
  store.save(chat);
  expect(store.load()?.rounds[0]).toMatchObject({ prompt: "why?", answers: [{ kind: "stopped" }] });
  store.save(undefined);
  expect(stored.size).toBe(0);
  expect(store.load()).toBeUndefined();
});

test.each(["{", "{}", "[]", '{"selectors":[],"rounds":[]}', '{"selectors":["*"],"rounds":[{}]}'])(
  "what is no chat is none: %s",
  (text) => {
    expect(keptChat(storageWith({ chat: text }).storageOf, "chat").load()).toBeUndefined();
  },
);

test("a browser that refuses storage keeps nothing, without an error", () => {
  const store = keptChat(() => {
    throw new Error("SecurityError");
  }, "chat");
  expect(store.load()).toBeUndefined();
  store.save(emptyChat());
});
