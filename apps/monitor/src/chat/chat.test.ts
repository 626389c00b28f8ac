import { expect, test } from "vitest";
import { type AnswerListener, type ChatStore, createChat } from "./chat.ts";
import type { ChatState, Message } from "./chat-state.ts";

interface Sent {
  selector: string;
  messages: Message[];
  signal: AbortSignal;
  listener: AnswerListener;
  end: () => void;
  fail: (error: Error) => void;
}

function stage(stored?: ChatState) {
  const sent: Sent[] = [];
  const saved: (ChatState | undefined)[] = [];
  const store: ChatStore = { load: () => stored, save: (chat) => void saved.push(chat) };
  const chat = createChat(
    (request, listener) =>
      new Promise((resolve, reject) => {
        sent.push({ ...request, listener, end: resolve, fail: reject });
        request.signal.addEventListener("abort", () => reject(request.signal.reason as Error));
      }),
    store,
    () => {},
  );
  const answers = () => chat.state().rounds.at(-1)?.answers ?? [];
  return { chat, sent, saved, answers };
}

const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

test("a prompt goes to each that is compared, and each answer is its own", async () => {
  const { chat, sent, answers } = stage();
  chat.compare("qwen3");
  chat.send("why?");
  expect(sent.map(({ selector }) => selector)).toEqual(["*", "qwen3"]);
  const from = { participantId: "ada", model: "llama3" };
  sent[0]?.listener.onHead({ requestId: "req_1", from });
  sent[0]?.listener.onReasoning("hm");
  sent[0]?.listener.onText("Because");
  sent[1]?.listener.onText("It ");
  sent[1]?.listener.onText("scatters");
  sent[0]?.end();
  sent[1]?.fail(new Error("it hung up"));
  await settled();
  expect(answers()).toMatchObject([
    { kind: "done", requestId: "req_1", from, reasoning: "hm", text: "Because" },
    { kind: "failed", text: "It scatters", problem: "it hung up" },
  ]);
});

test("the next prompt carries the conversation, and waits until all answers are there", async () => {
  const { chat, sent } = stage();
  chat.send("one");
  chat.send("too early");
  expect(sent).toHaveLength(1);
  sent[0]?.listener.onText("a1");
  sent[0]?.end();
  await settled();
  chat.choose(0, "qwen3");
  chat.send("  ");
  chat.send("two");
  expect(sent[1]).toMatchObject({
    selector: "qwen3",
    messages: [
      { role: "user", content: "one" },
      { role: "assistant", content: "a1" },
      { role: "user", content: "two" },
    ],
  });
});

test("a stop ends the answers, keeps their text, and not the chat", async () => {
  const { chat, sent, answers } = stage();
  chat.send("one");
  sent[0]?.listener.onText("Bec");
  chat.stop();
  sent[0]?.listener.onText("late");
  await settled();
  expect(sent[0]?.signal.aborted).toBe(true);
  expect(answers()).toMatchObject([{ kind: "stopped", text: "Bec", problem: undefined }]);
  chat.send("two");
  expect(sent[1]?.signal.aborted).toBe(false);
});

test("an answer is requested again alone", async () => {
  const { chat, sent, answers } = stage();
  chat.send("one");
  sent[0]?.fail(new Error("no participant"));
  await settled();
  chat.retry(0);
  expect(answers()).toMatchObject([{ kind: "running", text: "", problem: undefined }]);
  expect(sent[1]?.messages).toEqual([{ role: "user", content: "one" }]);
});

test("nothing is stored until it is kept, then each answer when it is whole", async () => {
  const { chat, sent, saved } = stage();
  chat.send("one");
  sent[0]?.end();
  await settled();
  expect(saved).toEqual([]);
  expect(chat.isKept()).toBe(false);
  chat.keep(true);
  expect(saved).toHaveLength(1);
  chat.send("two");
  sent[1]?.listener.onText("a");
  expect(saved).toHaveLength(1);
  sent[1]?.end();
  await settled();
  expect(saved.at(-1)?.rounds).toHaveLength(2);
  chat.keep(false);
  expect(saved.at(-1)).toBeUndefined();
});

test("a chat that was kept goes on", () => {
  const { chat } = stage({ selectors: ["qwen3"], rounds: [] });
  expect(chat.isKept()).toBe(true);
  expect(chat.state().selectors).toEqual(["qwen3"]);
});
