import { expect, test } from "vitest";
import { chatOf, refusalOf, translated } from "../translate.fixture.ts";

const schema = { type: "object", properties: { city: { type: "string" } } };

test.each([
  ["nothing", undefined],
  ["null", null],
  ["no format", {}],
  ["a format that is null", { format: null }],
  ["plain text", { format: { type: "text" } }],
])("%s sends no response_format, and is echoed as text", (_, text) => {
  expect(chatOf({ text })).not.toHaveProperty("response_format");
  expect(chatOf({ text })).not.toHaveProperty("verbosity");
  expect(translated({ text }).echo.text).toEqual({ format: { type: "text" } });
});

test("json_object is the same in chat", () => {
  const text = { format: { type: "json_object" } };
  expect(chatOf({ text })["response_format"]).toEqual({ type: "json_object" });
  expect(translated({ text }).echo.text).toEqual(text);
});

test("a schema is nested in chat, with its description", () => {
  const format = {
    type: "json_schema",
    name: "place",
    schema,
    strict: true,
    description: "Where.",
  };
  const { type, ...rest } = format;
  expect(chatOf({ text: { format } })["response_format"]).toEqual({ type, json_schema: rest });
  expect(translated({ text: { format } }).echo.text).toEqual({ format });
});

test("what a schema leaves out is absent in chat, and present in the echo", () => {
  const format = { type: "json_schema", name: "place", schema };
  const text = { format: { ...format, strict: null } };
  expect(chatOf({ text })["response_format"]).toEqual({
    type: "json_schema",
    json_schema: { name: "place", schema },
  });
  expect(translated({ text }).echo.text).toEqual({
    format: { ...format, description: null, strict: false },
  });
});

test("verbosity is passed on and echoed", () => {
  const text = { verbosity: "low" };
  expect(chatOf({ text })["verbosity"]).toBe("low");
  expect(translated({ text }).echo.text).toEqual({ format: { type: "text" }, verbosity: "low" });
});

test("a grammar is refused", () => {
  const text = { format: { type: "grammar", definition: "start: x" } };
  expect(refusalOf({ text })).toEqual(["unsupported_value", "text.format.type"]);
});

test.each([
  ["text that is a string", "json", "text"],
  ["a format that is a string", { format: "json" }, "text.format"],
  ["a format without type", { format: {} }, "text.format.type"],
  ["a schema without name", { format: { type: "json_schema", schema } }, "text.format.name"],
  ["a name without schema", { format: { type: "json_schema", name: "a" } }, "text.format.schema"],
  [
    "strict as a word",
    { format: { type: "json_schema", name: "a", schema, strict: "yes" } },
    "text.format.strict",
  ],
  ["verbosity as a number", { verbosity: 1 }, "text.verbosity"],
])("%s is an invalid type, and the field is named", (_, text, param) => {
  expect(refusalOf({ text })).toEqual(["invalid_type", param]);
});
