import type { ChatRequest } from "../translation/surface-translation.ts";
import type { ToolNames } from "../translation/tool-naming.ts";

/**
 * What a response object repeats of its request, every key present. Open Responses 2026-04-24, `ResponseResource`: the
 * keys are required and null where the request leaves them out; what translation cannot promise is reported as it is (`truncation`
 * is `disabled`, `background` false, `previous_response_id` null).
 */
export interface ResponseEcho {
  instructions: string | null;
  /** only function tools, each with name, description, parameters and strict */
  tools: readonly object[];
  tool_choice: unknown;
  truncation: "disabled";
  parallel_tool_calls: boolean;
  text: object;
  top_p: number;
  presence_penalty: number;
  frequency_penalty: number;
  top_logprobs: number;
  temperature: number;
  reasoning: { effort: string | null; summary: string | null } | null;
  max_output_tokens: number | null;
  max_tool_calls: number | null;
  store: boolean;
  background: false;
  service_tier: string;
  metadata: object;
  safety_identifier: string | null;
  prompt_cache_key: string | null;
  previous_response_id: null;
}

/** A Responses request translated for chat, and what the way back needs. */
export interface TranslatedRequest extends ChatRequest {
  echo: ResponseEcho;
  toolNames: ToolNames;
}
