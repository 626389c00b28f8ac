import { expect, test } from "vitest";
import { GENERATED_CONTENT, hasGeneratedContent } from "./generated-content.ts";
import type { StreamMarker } from "./surface.ts";

const chunk = (delta: unknown) => ({ choices: [{ index: 0, delta }] });
const started = (block: unknown) => ({ type: "content_block_start", content_block: block });
const continued = (delta: unknown) => ({ type: "content_block_delta", delta });

const filled: [StreamMarker, Record<string, unknown>][] = [
  ["chat", chunk({ content: "H" })],
  ["chat", chunk({ content: '"' })],
  ["chat", chunk({ content: [{ type: "text" }] })],
  ["chat", chunk({ content: null, reasoning_content: "H" })],
  ["chat", chunk({ reasoning: "H" })],
  ["chat", chunk({ refusal: "I" })],
  ["chat", chunk({ tool_calls: [{ index: 0 }] })],
  ["chat", chunk({ function_call: { name: "f" } })],
  ["chat", chunk({ audio: { id: "a" } })],
  ["chat", { choices: [{ text: " a" }] }],
  ["none", chunk({ content: "H" })],
  ["responses", { type: "response.output_text.delta", delta: "H" }],
  ["responses", { type: "response.reasoning_summary_text.delta", delta: "H" }],
  ["responses", { type: "response.function_call_arguments.delta", delta: "{" }],
  ["messages", continued({ type: "text_delta", text: "H" })],
  ["messages", continued({ type: "thinking_delta", thinking: "H" })],
  ["messages", continued({ type: "input_json_delta", partial_json: "{" })],
  ["messages", started({ type: "tool_use", id: "t", name: "f", input: {} })],
  ["messages", started({ type: "server_tool_use", id: "t", name: "f", input: {} })],
  ["messages", started({ type: "text", text: "H" })],
];

const empty: [StreamMarker, Record<string, unknown>][] = [
  ["chat", chunk({ role: "assistant", content: "" })],
  ["chat", chunk({ role: "assistant", content: null, tool_calls: [] })],
  ["chat", { choices: [], usage: { completion_tokens: 3 } }],
  ["chat", { choices: [{ text: "" }] }],
  ["responses", { type: "response.created", response: { output: [] } }],
  ["responses", { type: "response.output_text.delta", delta: "" }],
  ["messages", { type: "message_start", message: { content: [] } }],
  ["messages", started({ type: "text", text: "" })],
  ["messages", started({ type: "thinking", thinking: "" })],
  ["messages", continued({ type: "signature_delta", signature: "s" })],
];

test.each(filled)("a %s event carries content: %j", (marker, event) => {
  expect(hasGeneratedContent(event, marker)).toBe(true);
});

test.each(empty)("a %s event carries no content: %j", (marker, event) => {
  expect(hasGeneratedContent(event, marker)).toBe(false);
});

test.each([
  ["compact", ""],
  ["spaced", " "],
])("the pattern finds the same content in %s JSON", (_style, space) => {
  const textOf = (event: unknown) =>
    JSON.stringify(event, undefined, space).replace(/\n\s*/g, space);
  const found = (cases: typeof filled) =>
    cases.filter(([marker, event]) => GENERATED_CONTENT[marker].test(textOf(event)));
  expect(found(filled)).toEqual(filled);
  expect(found(empty)).toEqual([]);
});

test("generated text that looks like content does not match", () => {
  const quoted = JSON.stringify({ note: JSON.stringify(chunk({ content: "H" })) });
  expect(GENERATED_CONTENT.chat.test(quoted)).toBe(false);
});
