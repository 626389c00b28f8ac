import type { TurnMessage } from "./turn-request.ts";

/** What a response repeats of its request, with OpenAI's defaults. Open Responses 2026-04-24, ResponseResource */
const echoed: Record<string, unknown> = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  frequency_penalty: 0,
  prompt_cache_key: null,
  reasoning: null,
  safety_identifier: null,
  service_tier: "default",
  store: true,
  temperature: 1,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: "disabled",
};

const noUsage = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/**
 * The response to a turn with `generate: false`: complete, without output, and its id is one that the next turn may go on
 * from. The hub makes it, since no provider gets the request.
 *
 * @param nowMs - epoch ms
 * @returns the messages, in order
 */
export function warmUpMessages(
  { fields, previousResponseId }: TurnMessage,
  responseId: string,
  nowMs: number,
): string[] {
  const createdAt = Math.floor(nowMs / 1000);
  const repeated = Object.entries(echoed).map(([name, otherwise]) => [
    name,
    fields[name] ?? otherwise,
  ]);
  const response = {
    id: responseId,
    object: "response",
    created_at: createdAt,
    completed_at: null as number | null,
    status: "in_progress",
    model: fields["model"],
    previous_response_id: previousResponseId ?? null,
    background: false,
    error: null,
    incomplete_details: null,
    output: [],
    usage: null as typeof noUsage | null,
    ...(Object.fromEntries(repeated) as object),
  };
  const whole = { ...response, status: "completed", completed_at: createdAt, usage: noUsage };
  return [
    JSON.stringify({ type: "response.created", sequence_number: 0, response }),
    JSON.stringify({ type: "response.completed", sequence_number: 1, response: whole }),
  ];
}
