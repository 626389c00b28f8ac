import type { ParticipantSummary } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { chatChoices, nextChoice } from "./chat-choices.ts";

function participant(id: string, model: string, overrides: object = {}): ParticipantSummary {
  return {
    ...{ id, nickname: id.toUpperCase(), model, status: "online" },
    connection: { connected: true, readiness: "ready" },
    capabilities: { chatCompletions: "supported" },
    ...overrides,
  } as ParticipantSummary;
}

test("choices are the models and participants that can chat now", () => {
  const choices = chatChoices([
    participant("bea", "qwen3"),
    participant("ada", "llama3"),
    participant("cat", "llama3"),
    participant("eve", "embedder", { capabilities: { chatCompletions: "unsupported" } }),
    participant("fay", "phi", { status: "offline" }),
  ]);
  expect(choices.models.map(({ text }) => text)).toEqual(["llama3", "qwen3"]);
  expect(choices.participants).toEqual([
    { selector: "bea", text: "BEA: qwen3" },
    { selector: "ada", text: "ADA: llama3" },
    { selector: "cat", text: "CAT: llama3" },
  ]);
  expect(nextChoice(choices, ["llama3"])).toBe("qwen3");
  expect(nextChoice(choices, ["llama3", "qwen3"])).toBe("*");
});

test("a stand-in is a choice only while no other can chat", () => {
  const demo = participant("fay", "demo", { standIn: true });
  expect(chatChoices([demo]).models.map(({ text }) => text)).toEqual(["demo"]);
  const { models, participants } = chatChoices([demo, participant("ada", "llama3")]);
  expect([...models, ...participants].map(({ text }) => text)).toEqual(["llama3", "ADA: llama3"]);
});
