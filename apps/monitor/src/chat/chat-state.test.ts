import { expect, test } from "vitest";
import {
  type Answer,
  type ChatState,
  emptyChat,
  isRunning,
  messagesFor,
  withAnswer,
  withMoreSelectors,
  withoutSelector,
  withoutThoughts,
  withPrompt,
  withRetry,
  withSelector,
} from "./chat-state.ts";

/** With an answer of each to every prompt, all done. */
function chatOf(rounds: [prompt: string, ...texts: string[]][], selectors = ["*"]): ChatState {
  let chat: ChatState = { ...emptyChat(), selectors };
  for (const [prompt, ...texts] of rounds) {
    chat = withPrompt(chat, prompt);
    const { id = 0 } = chat.rounds.at(-1) ?? {};
    texts.forEach((text, index) => {
      chat = withAnswer(chat, id, index, (answer) => ({ ...answer, kind: "done", text }));
    });
  }
  return chat;
}

const textsOf = ({ rounds }: ChatState) =>
  rounds.map(({ answers }) => answers.map(({ text }) => text));

test("a prompt begins an answer of each that is chosen", () => {
  const chat = withPrompt(withMoreSelectors(emptyChat(), "qwen3"), "why?");
  expect(chat.rounds).toMatchObject([
    {
      prompt: "why?",
      answers: [
        { kind: "running", selector: "*" },
        { kind: "running", selector: "qwen3" },
      ],
    },
  ]);
  expect(isRunning(chat)).toBe(true);
  expect(isRunning(chatOf([["why?", "so"]]))).toBe(false);
});

test("a conversation is the prompts and answers before, each model with its own", () => {
  const chat = withPrompt(
    chatOf(
      [
        ["one", "a1", "b1"],
        ["two", "a2", "b2"],
      ],
      ["*", "qwen3"],
    ),
    "three",
  );
  const texts = (index: number) => messagesFor(chat, 3, index).map(({ content }) => content);
  expect(texts(0)).toEqual(["one", "a1", "two", "a2", "three"]);
  expect(texts(1)).toEqual(["one", "b1", "two", "b2", "three"]);
  expect(messagesFor(chat, 2, 0).map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
});

test("a model that is compared later goes on with the first one's answers", () => {
  const chat = withPrompt(withMoreSelectors(chatOf([["one", "a1"]]), "qwen3"), "two");
  expect(messagesFor(chat, 2, 1).map(({ content }) => content)).toEqual(["one", "a1", "two"]);
});

test("a prompt without an answer, and a model's thoughts, are no part of the conversation", () => {
  const chat = withPrompt(
    chatOf([
      ["one", ""],
      ["two", "<think>hm</think>\n\nyes"],
    ]),
    "three",
  );
  expect(messagesFor(chat, 3, 0).map(({ content }) => content)).toEqual(["two", "yes", "three"]);
});

test("at most three are compared, the first one stays, and another leaves with its answers", () => {
  let chat = chatOf([["one", "a", "b", "c"]], ["*", "m1", "m2"]);
  expect(withMoreSelectors(chat, "m3")).toBe(chat);
  expect(withoutSelector(chat, 0)).toBe(chat);
  chat = withoutSelector(chat, 1);
  expect(chat.selectors).toEqual(["*", "m2"]);
  expect(textsOf(chat)).toEqual([["a", "c"]]);
});

test("a retry is of the last round, from whom is chosen now", () => {
  const chat = withRetry(
    withSelector(
      chatOf([
        ["one", "a"],
        ["two", "b"],
      ]),
      0,
      "qwen3",
    ),
    0,
  );
  expect(textsOf(chat)).toEqual([["a"], [""]]);
  expect(chat.rounds[1]?.answers[0]).toMatchObject({ kind: "running", selector: "qwen3" });
});

test("a change of an answer that is gone changes nothing, and a text is bounded", () => {
  const chat = chatOf([["one", "a"]]);
  const change = (answer: Answer) => ({ ...answer, text: "x".repeat(1_000_000) });
  expect(withAnswer(chat, 7, 0, change)).toEqual(chat);
  expect(withAnswer(chat, 1, 5, change)).toEqual(chat);
  expect(withAnswer(chat, 1, 0, change).rounds[0]?.answers[0]?.text).toHaveLength(100_000);
});

test.each([
  ["plain", "", "plain"],
  ["<think>so", "so", ""],
  ["\n<think>so</think>\n\nyes </think>", "so", "yes </think>"],
  ["yes <think>no</think>", "", "yes <think>no</think>"],
])("%j has its thoughts apart", (given, reasoning, text) => {
  expect(withoutThoughts(given)).toEqual({ reasoning, text });
});
