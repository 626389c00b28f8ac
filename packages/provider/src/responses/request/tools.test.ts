import { expect, test } from "vitest";
import { chatOf, refusalOf, translated } from "../translate.fixture.ts";

const parameters = { type: "object", properties: { city: { type: "string" } } };
const weather = { type: "function", name: "weather", description: "Tells.", parameters };
const clock = { type: "function", name: "clock" };
const patch = { type: "custom", name: "patch", description: "Edits." };
const docs = {
  type: "namespace",
  name: "docs",
  description: "The manual.",
  tools: [
    { type: "function", name: "find", description: "Finds." },
    { type: "custom", name: "note" },
  ],
};
const search = { type: "web_search" };
const emptySchema = { type: "object", properties: {} };
const freeText = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

function namesOffered(requested: Record<string, unknown>): string[] {
  const tools = (chatOf(requested)["tools"] ?? []) as { function: { name: string } }[];
  return tools.map((tool) => tool.function.name);
}

test("a function is sent in chat's nested form, strict only where the request has it", () => {
  const strictClock = { ...clock, strict: true, description: null, parameters: null };
  expect(chatOf({ tools: [weather, strictClock, { ...clock, strict: null }] })["tools"]).toEqual([
    { type: "function", function: { name: "weather", description: "Tells.", parameters } },
    { type: "function", function: { name: "clock", parameters: emptySchema, strict: true } },
    { type: "function", function: { name: "clock", parameters: emptySchema } },
  ]);
});

test("a custom tool is a function with one text, its grammar part of the description", () => {
  const grammar = { type: "grammar", syntax: "lark", definition: "start: x" };
  const tools = [
    { ...patch, format: grammar },
    { ...patch, name: "note", format: { type: "text" } },
    { type: "custom", name: "bare" },
  ];
  expect(chatOf({ tools })["tools"]).toEqual([
    {
      type: "function",
      function: {
        name: "patch",
        description: "Edits.\n\nThe input must match this lark grammar:\nstart: x",
        parameters: freeText,
      },
    },
    { type: "function", function: { name: "note", description: "Edits.", parameters: freeText } },
    { type: "function", function: { name: "bare", parameters: freeText } },
  ]);
});

test("a namespace is flattened, and its description stands with its first tool", () => {
  const bare = { ...docs, name: "bare", description: null };
  const { chat, toolNames } = translated({ tools: [docs, bare] });
  expect(JSON.parse(JSON.stringify(chat["tools"]))).toEqual([
    {
      type: "function",
      function: {
        name: "docs__find",
        description: "Finds.\n\nThe manual.",
        parameters: emptySchema,
      },
    },
    { type: "function", function: { name: "docs__note", parameters: freeText } },
    {
      type: "function",
      function: { name: "bare__find", description: "Finds.", parameters: emptySchema },
    },
    { type: "function", function: { name: "bare__note", parameters: freeText } },
  ]);
  expect(toolNames.get("docs__find")).toEqual({
    kind: "function",
    name: "find",
    namespace: "docs",
  });
  expect(toolNames.get("docs__note")).toEqual({ kind: "custom", name: "note", namespace: "docs" });
});

test("a tool without a description introduces its namespace all the same", () => {
  const tools = [{ ...docs, tools: [clock] }];
  expect(chatOf({ tools })["tools"]).toMatchObject([{ function: { description: "The manual." } }]);
});

test.each([
  "web_search",
  "web_search_preview",
  "file_search",
  "mcp",
  "computer_use_preview",
  "image_generation",
  "code_interpreter",
  "local_shell",
  "vendor:tool",
])("the hosted tool %s is left out", (type) => {
  expect(namesOffered({ tools: [{ type }, weather] })).toEqual(["weather"]);
});

test("a call in the history has the name its tool has now", () => {
  const tools = [{ type: "function", name: "docs__find" }, docs];
  const call = {
    type: "function_call",
    call_id: "1",
    name: "find",
    namespace: "docs",
    arguments: "{}",
  };
  const { chat } = translated({ input: [call], tools });
  expect(chat["messages"]).toMatchObject([
    { tool_calls: [{ function: { name: "docs__find_2" } }] },
  ]);
});

test("a call in the history whose tool is not declared never takes a declared tool's name", () => {
  const call = { type: "custom_tool_call", call_id: "1", name: "weather", input: "" };
  const { chat, toolNames } = translated({ input: [call], tools: [weather] });
  expect(chat["messages"]).toMatchObject([{ tool_calls: [{ function: { name: "weather_2" } }] }]);
  expect(toolNames.get("weather")?.kind).toBe("function");
});

test.each([
  ["auto", "auto"],
  ["none", "none"],
  ["required", "required"],
  [
    { type: "function", name: "weather" },
    { type: "function", function: { name: "weather" } },
  ],
  [
    { type: "custom", name: "patch" },
    { type: "function", function: { name: "patch" } },
  ],
  [
    { type: "function", name: "find" },
    { type: "function", function: { name: "docs__find" } },
  ],
  [
    { type: "custom", name: "note", namespace: "docs" },
    { type: "function", function: { name: "docs__note" } },
  ],
])("tool_choice %j is %j", (choice, expected) => {
  const chat = chatOf({ tools: [weather, patch, docs], tool_choice: choice });
  expect(chat["tool_choice"]).toEqual(expected);
  expect(chat["tools"]).toHaveLength(4);
});

test.each([undefined, null])("tool_choice %s is left to the provider", (choice) => {
  expect(chatOf({ tools: [weather], tool_choice: choice })).not.toHaveProperty("tool_choice");
});

test("a forced tool outside of namespaces goes before one inside", () => {
  const tools = [docs, { type: "function", name: "find" }];
  const chat = chatOf({ tools, tool_choice: { type: "function", name: "find" } });
  expect(chat["tool_choice"]).toEqual({ type: "function", function: { name: "find" } });
});

test.each([
  ["functions", [{ type: "function", name: "clock" }], ["clock"]],
  ["custom tools", [{ type: "custom", name: "patch" }], ["patch"]],
  ["a kind the tool is not of", [{ type: "custom", name: "clock" }], []],
  ["one tool of a namespace", [{ type: "function", name: "find" }], ["docs__find"]],
  ["one with its namespace", [{ type: "custom", name: "note", namespace: "docs" }], ["docs__note"]],
  ["a namespace", [{ type: "namespace", name: "docs" }], ["docs__find", "docs__note"]],
  ["a hosted tool beside", [search, { type: "function", name: "clock" }], ["clock"]],
  ["a tool that is not there", [{ type: "function", name: "missing" }], []],
])("allowed_tools offers nothing else: %s", (_, allowed, expected) => {
  const tools = [weather, clock, patch, docs, search];
  const choice = { type: "allowed_tools", mode: "auto", tools: allowed };
  expect(namesOffered({ tools, tool_choice: choice })).toEqual(expected);
});

test.each([
  ["auto", "auto"],
  ["required", "required"],
  [undefined, "auto"],
])("allowed_tools in mode %s is the choice %s", (mode, expected) => {
  const choice = { type: "allowed_tools", mode, tools: [{ type: "function", name: "clock" }] };
  expect(chatOf({ tools: [weather, clock], tool_choice: choice })["tool_choice"]).toBe(expected);
});

test("tools that are not allowed keep their names for the way back", () => {
  const choice = {
    type: "allowed_tools",
    mode: "auto",
    tools: [{ type: "function", name: "clock" }],
  };
  const { toolNames } = translated({ tools: [weather, clock], tool_choice: choice });
  expect([...toolNames.keys()]).toEqual(["weather", "clock"]);
});

test("parallel_tool_calls and tool_choice go only with tools", () => {
  const requested = { parallel_tool_calls: false, tool_choice: "auto" };
  expect(chatOf({ ...requested, tools: [weather] })).toMatchObject(requested);
  for (const tools of [undefined, null, [], [search]]) {
    const chat = chatOf({ ...requested, tools });
    expect(chat).not.toHaveProperty("tools");
    expect(chat).not.toHaveProperty("tool_choice");
    expect(chat).not.toHaveProperty("parallel_tool_calls");
  }
});

test.each([
  ["a hosted tool", { type: "web_search" }, "tool_choice.type"],
  ["an MCP server", { type: "mcp", server_label: "docs" }, "tool_choice.type"],
  ["a function that is not declared", { type: "function", name: "missing" }, "tool_choice.name"],
  [
    "a function of another namespace",
    { type: "function", name: "weather", namespace: "docs" },
    "tool_choice.name",
  ],
  ["a custom tool of that name", { type: "custom", name: "weather" }, "tool_choice.name"],
  ["an unknown mode", "sometimes", "tool_choice"],
  [
    "an allowed mode that is unknown",
    { type: "allowed_tools", mode: "sometimes", tools: [{ type: "function", name: "weather" }] },
    "tool_choice.mode",
  ],
  [
    "a call of only hosted tools",
    { type: "allowed_tools", mode: "required", tools: [search] },
    "tool_choice.mode",
  ],
])("forcing %s is refused and named", (_, choice, param) => {
  expect(refusalOf({ tools: [weather, search], tool_choice: choice })).toEqual([
    "unsupported_value",
    param,
  ]);
});

test.each([[[search]], [[]], [undefined]])("a call is not required of %j", (tools) => {
  expect(refusalOf({ tools, tool_choice: "required" })).toEqual([
    "unsupported_value",
    "tool_choice",
  ]);
});

test("a namespace of absurd length is refused", () => {
  const tools = [{ ...docs, name: "n".repeat(129) }];
  expect(refusalOf({ tools })).toEqual(["unsupported_value", "tools[0].name"]);
});

test.each([
  ["tools that are an object", { tools: {} }, "tools"],
  ["a tool that is a string", { tools: ["weather"] }, "tools[0]"],
  ["a tool without type", { tools: [{ name: "weather" }] }, "tools[0].type"],
  [
    "a function as chat writes it",
    { tools: [{ type: "function", function: clock }] },
    "tools[0].name",
  ],
  [
    "a description that is a number",
    { tools: [{ ...clock, description: 1 }] },
    "tools[0].description",
  ],
  ["parameters that are a list", { tools: [{ ...clock, parameters: [] }] }, "tools[0].parameters"],
  ["strict as a word", { tools: [{ ...clock, strict: "yes" }] }, "tools[0].strict"],
  ["a custom tool without name", { tools: [{ type: "custom" }] }, "tools[0].name"],
  ["a format that is a string", { tools: [{ ...patch, format: "lark" }] }, "tools[0].format"],
  [
    "a grammar without rules",
    { tools: [{ ...patch, format: { type: "grammar", syntax: "lark" } }] },
    "tools[0].format.definition",
  ],
  ["a namespace without name", { tools: [{ type: "namespace", tools: [] }] }, "tools[0].name"],
  ["a namespace of a string", { tools: [{ ...docs, tools: "find" }] }, "tools[0].tools"],
  [
    "a nameless tool in a namespace",
    { tools: [{ ...docs, tools: [clock, { type: "function" }] }] },
    "tools[0].tools[1].name",
  ],
  ["a choice that is a number", { tool_choice: 1 }, "tool_choice"],
  ["a choice without type", { tool_choice: {} }, "tool_choice.type"],
  ["a choice without name", { tool_choice: { type: "function" } }, "tool_choice.name"],
  ["allowed_tools without tools", { tool_choice: { type: "allowed_tools" } }, "tool_choice.tools"],
  [
    "an allowed tool that is a string",
    { tool_choice: { type: "allowed_tools", tools: ["clock"] } },
    "tool_choice.tools[0]",
  ],
  [
    "an allowed tool without name",
    { tool_choice: { type: "allowed_tools", tools: [{ type: "function" }] } },
    "tool_choice.tools[0].name",
  ],
  ["parallel_tool_calls as a word", { parallel_tool_calls: "yes" }, "parallel_tool_calls"],
])("%s is an invalid type, and the field is named", (_, requested, param) => {
  expect(refusalOf(requested)).toEqual(["invalid_type", param]);
});
