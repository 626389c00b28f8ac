import { expect, test } from "vitest";
import { countingSource } from "../response.fixture.ts";
import { ResponseOutput } from "./response-output.ts";
import type { ChatContent } from "../../translation/chat/chat-choice.ts";

const silence: ChatContent = { reasoning: "", text: "", refusal: "", calls: [], logprobs: [] };

function outputAfter(...parts: Partial<ChatContent>[]): ResponseOutput {
  const output = new ResponseOutput(() => undefined, new Map(), countingSource());
  for (const part of parts) output.add({ ...silence, ...part });
  return output;
}

function call(changes: object) {
  return { index: 0, id: "", name: "", arguments: "", ...changes };
}

test("a call whose name never came is part of the response", () => {
  const output = outputAfter({ calls: [call({ id: "a", arguments: "{}" })] });
  expect(output.items()).toEqual([]);
  output.close(false);
  expect(output.items()).toMatchObject([{ type: "function_call", name: "", arguments: "{}" }]);
});

test("closing closes only what is open, once", () => {
  const types: string[] = [];
  const emit = (type: string) => void types.push(type);
  const output = new ResponseOutput(emit, new Map(), countingSource());
  output.add({ ...silence, reasoning: "a", text: "b" });
  output.close(true);
  expect(types.filter((type) => type === "response.output_item.done")).toHaveLength(2);
  expect(output.items()).toMatchObject([{ status: "completed" }, { status: "incomplete" }]);
});

test("whatever is kept weighs something", () => {
  const logprob = { token: "a", logprob: 0, bytes: [97], top_logprobs: [] };
  const weights = [
    outputAfter({ text: "a" }),
    outputAfter({ text: "a" }, { text: "a" }),
    outputAfter({ text: "a", logprobs: [logprob] }),
    outputAfter({ text: "a", logprobs: [{ ...logprob, top_logprobs: [logprob] }] }),
    outputAfter({ reasoning: "a" }),
    outputAfter({ reasoning: "a", text: "a" }),
    outputAfter({ refusal: "a" }),
    outputAfter({ calls: [call({ arguments: "a" })] }),
    outputAfter({ calls: [call({ id: "a", name: "b", arguments: "cd" })] }),
  ].map((output) => output.heldCharacters);
  expect(weights).toEqual([1_025, 1_026, 1_153, 1_281, 1_025, 2_050, 1_025, 1_025, 2_052]);
});
