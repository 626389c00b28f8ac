import { expect, test } from "vitest";
import { answerLine } from "./answer-printer.ts";
import type { Answer } from "./request-answer.ts";

const answer: Answer = {
  ...{ participantId: "ana-llama3", model: "llama3", requestId: "req-1", isCut: false },
  ...{ usage: { completion_tokens: 80 }, durationMs: 2_400, ttftMs: 340 },
};

test("who answered, and how fast, as the room's tables count it", () => {
  expect(answerLine(answer, 80)).toBe(
    "— ana-llama3 (llama3), 80 tokens, 33.3 tokens/s, first token 340 ms",
  );
});

test("what the model server does not report is left out", () => {
  expect(answerLine({ ...answer, usage: undefined, ttftMs: undefined }, 80)).toBe(
    "— ana-llama3 (llama3)",
  );
  const estimated = { ...answer, usage: { completion_tokens: "many" } };
  expect(answerLine(estimated, 80)).toBe("— ana-llama3 (llama3), first token 340 ms");
});

test("an answer that was cut off says so, before its figures", () => {
  expect(answerLine({ ...answer, isCut: true }, 60)).toBe(
    "— ana-llama3 (llama3), cut off at its length limit, 80 tok…",
  );
});

test("names from the network cannot control the terminal", () => {
  const line = answerLine({ ...answer, participantId: "\u001b[2J", model: undefined }, 80);
  expect(line.startsWith("— \ufffd[2J (?), ")).toBe(true);
});
