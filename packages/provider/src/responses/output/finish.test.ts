import { expect, test } from "vitest";
import { outcomeOf } from "./response-object.ts";

test.each(["stop", "tool_calls", "function_call", "eos", undefined])(
  "%s is an ordinary end",
  (reason) => {
    expect(outcomeOf(reason)).toEqual({ status: "completed" });
  },
);

test.each([
  ["length", "max_output_tokens"],
  ["max_tokens", "max_output_tokens"],
  ["model_length", "max_output_tokens"],
  ["content_filter", "content_filter"],
  ["error", "error"],
  ["abort", "error"],
  ["insufficient_system_resource", "error"],
])("%s leaves the response incomplete", (reason, reported) => {
  expect(outcomeOf(reason)).toEqual({ status: "incomplete", reason: reported });
});
