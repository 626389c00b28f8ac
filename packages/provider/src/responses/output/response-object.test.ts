import { expect, test } from "vitest";
import { translatedRequest, countingSource } from "../response.fixture.ts";
import { beginResponse, responseObject, type ResponseState } from "./response-object.ts";

/** The keys compat clients and the published suite insist on. */
const requiredKeys = [
  "background",
  "completed_at",
  "created_at",
  "error",
  "frequency_penalty",
  "id",
  "incomplete_details",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "model",
  "object",
  "output",
  "parallel_tool_calls",
  "presence_penalty",
  "previous_response_id",
  "prompt_cache_key",
  "reasoning",
  "safety_identifier",
  "service_tier",
  "status",
  "store",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "usage",
];

const usage = {
  input_tokens: 1,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 1,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 2,
};
const states: [ResponseState, object][] = [
  [
    { kind: "in progress" },
    {
      status: "in_progress",
      completed_at: null,
      incomplete_details: null,
      error: null,
      usage: null,
    },
  ],
  [
    { kind: "ended", outcome: { status: "completed" }, usage, atSeconds: 2_000 },
    { status: "completed", completed_at: 2_000, incomplete_details: null, error: null, usage },
  ],
  [
    {
      kind: "ended",
      outcome: { status: "incomplete", reason: "why" },
      usage: null,
      atSeconds: 2_000,
    },
    {
      status: "incomplete",
      completed_at: null,
      incomplete_details: { reason: "why" },
      usage: null,
    },
  ],
  [
    { kind: "failed", error: { code: "c", message: "m" } },
    { status: "failed", completed_at: null, error: { code: "c", message: "m" }, usage: null },
  ],
];

test.each(states)("%j has all 31 keys and says so", (state, expected) => {
  const origin = beginResponse(translatedRequest(), countingSource());
  const response = responseObject(origin, "m", [{ type: "message" }], state);
  expect(Object.keys(response).sort()).toEqual(requiredKeys);
  expect(response).toMatchObject({
    id: "resp_0",
    object: "response",
    created_at: 1_000,
    model: "m",
    output: [{ type: "message" }],
    ...expected,
  });
});

test("the request's fields are repeated", () => {
  const requested = translatedRequest();
  const echo = {
    ...requested.echo,
    instructions: "be brief",
    metadata: { a: "b" },
    temperature: 0.2,
  };
  const origin = beginResponse({ ...requested, echo }, countingSource());
  expect(responseObject(origin, "m", [], { kind: "in progress" })).toMatchObject(echo);
});
