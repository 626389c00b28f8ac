import { expect, test } from "vitest";
import { providerErrorIn } from "./chat-stream.ts";

const plain = { type: "server_error", param: "", code: "provider_error" };

test.each([
  [
    { error: { message: "m", type: "t", param: "p", code: "c" } },
    { message: "m", type: "t", param: "p", code: "c" },
  ],
  [
    { error: { message: "m", type: null, param: null, code: 502 } },
    { ...plain, message: "m", code: "502" },
  ],
  [
    { error: { message: "m", type: "exceed_context_size_error", code: 400 } },
    { message: "m", type: "exceed_context_size_error", param: "", code: "context_length_exceeded" },
  ],
  [
    { error: "m", choices: [] },
    { ...plain, message: "m" },
  ],
  [{ error: {} }, { ...plain, message: "The provider reported an error in its stream." }],
  [
    { object: "error", message: "m", code: 400, param: null },
    { ...plain, message: "m", code: "400" },
  ],
])("%j is an error whose words are all strings", (value, expected) => {
  expect(providerErrorIn(value, undefined)).toEqual(expected);
});

test.each([
  ["m", "m"],
  [{ message: "m" }, "m"],
  [{ error: { message: "m" } }, "m"],
  [7, "The provider reported an error in its stream."],
])("in an event named error, %j is one", (value, message) => {
  expect(providerErrorIn(value, "error")).toEqual({ ...plain, message });
});

test.each([
  [null],
  ["error"],
  [[]],
  [{}],
  [{ error: null }],
  [{ error: "" }],
  [{ error: false }],
  [{ message: "m" }],
])("%j is none", (value) => {
  expect(providerErrorIn(value, undefined)).toBeUndefined();
});
