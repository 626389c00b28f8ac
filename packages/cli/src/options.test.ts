import { expect, test } from "vitest";
import { endpointArgument } from "./options.ts";

test.each([
  ["127.0.0.1:11434", "http://127.0.0.1:11434"],
  ["localhost:11434/v1", "http://localhost:11434/v1"],
  ["gpu-box", "http://gpu-box"],
  ["https://api.example.com/v1", "https://api.example.com/v1"],
  ["ftp://files", "ftp://files"],
])("the endpoint %s is %s", (text, expected) => {
  expect(endpointArgument(text)).toBe(expected);
});
