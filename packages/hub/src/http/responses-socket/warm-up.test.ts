import { expect, test } from "vitest";
import { warmUpMessages } from "./warm-up.ts";

/** Open Responses 2026-04-24, ResponseResource: what every response has. */
const keys =
  "id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key";

test("a warm-up gets a complete response without output", () => {
  const message = {
    fields: { model: "m", temperature: 0, store: false, top_k: 4 },
    input: [],
    previousResponseId: "resp_0",
    isWarmUp: true,
  };
  const [first, last] = warmUpMessages(message, "resp_1", 12_345).map(
    (text) => JSON.parse(text) as { type: string; response: Record<string, unknown> },
  );
  expect(first).toMatchObject({
    type: "response.created",
    sequence_number: 0,
    response: { status: "in_progress", completed_at: null, usage: null },
  });
  expect(last).toMatchObject({
    type: "response.completed",
    sequence_number: 1,
    response: {
      ...{ id: "resp_1", status: "completed", created_at: 12, completed_at: 12, output: [] },
      ...{ model: "m", previous_response_id: "resp_0", temperature: 0, store: false },
      usage: { total_tokens: 0 },
    },
  });
  expect(Object.keys(last?.response ?? {}).sort()).toEqual(keys.split(" ").sort());
});
