import { expect, test } from "vitest";
import { responseUsage } from "./response-object.ts";

test("every count has its place", () => {
  expect(
    responseUsage({
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    }),
  ).toEqual({
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 15,
  });
});

test("what is left out or no count is 0, and a missing total is the sum", () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: null };
  expect(responseUsage({ ...usage, completion_tokens_details: { reasoning_tokens: -1 } })).toEqual({
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  });
  expect(responseUsage({ prompt_tokens: 10 })).toMatchObject({
    output_tokens: 0,
    total_tokens: 10,
  });
});

test.each([
  [undefined],
  [null],
  ["5"],
  [[]],
  [{}],
  [{ prompt_tokens: "5", completion_tokens: 1.5 }],
])("%j is no usage", (usage) => {
  expect(responseUsage(usage)).toBeNull();
});
