import { describe, expect, test } from "vitest";
import { chatOf, messagesOf, refusalOf, translated } from "../message.fixture.ts";
import { translateMessages } from "./request.ts";
import { UntranslatableError } from "../../translation/placed-object.ts";

const tool = { name: "f", description: "Does.", input_schema: { type: "object", properties: {} } };
const chatTool = {
  type: "function",
  function: { name: "f", description: "Does.", parameters: { type: "object", properties: {} } },
};

test("a request becomes a chat request with chat's names", () => {
  expect(
    chatOf({
      max_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ["END"],
      stream: true,
      metadata: { user_id: "u" },
    }),
  ).toEqual({
    model: "llama",
    messages: [{ role: "user", content: "hi" }],
    max_tokens: 9,
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    stop: ["END"],
    stream: true,
    stream_options: { include_usage: true },
  });
});

test("members that are unknown, or about Anthropic's service, are left out", () => {
  const known = chatOf({});
  expect(
    chatOf({
      metadata: {},
      service_tier: "auto",
      context_management: { edits: [] },
      thinking: { type: "enabled", budget_tokens: 4_000 },
      betas: ["x"],
      mcp_servers: [],
      container: null,
      anything: { at: "all" },
      n: 1,
      stop_sequences: [],
      output_config: {},
    }),
  ).toEqual(known);
});

test.each([
  [{ mcp_servers: [{ type: "url" }] }, "mcp_servers"],
  [{ container: "c" }, "container"],
  [{ n: 2 }, "n"],
  [{ tools: [{ type: "web_search_20250305", name: "web_search" }] }, "tools[0].type"],
  [{ tools: [tool], tool_choice: { type: "tool", name: "g" } }, "tool_choice.name"],
  [{ tool_choice: { type: "any" } }, "tool_choice.type"],
  [{ tools: [tool], tool_choice: { type: "some" } }, "tool_choice.type"],
])("%j has no counterpart, and the refusal names it", (requested, param) => {
  expect(refusalOf(requested)).toEqual(["unsupported_value", param]);
});

test("a stored thread cannot be continued, and one that begins is a conversation like any other", () => {
  expect(chatOf({ thread: { type: "create" } })).toEqual(chatOf({}));
  const thread = { type: "continue", previous_message_id: "msg_1" };
  expect(refusalOf({ thread })).toEqual(["thread_not_found", "thread"]);
});

test.each([
  [{ temperature: "hot" }, "temperature"],
  [{ system: 4 }, "system"],
  [{ tools: [{ name: "f" }] }, "tools[0].input_schema"],
  [{ model: 4 }, "model"],
])("%j is of a wrong type", (requested, param) => {
  expect(refusalOf(requested)).toEqual(["invalid_type", param]);
});

test("an output_config of a wrong type is reported before a top_k of one", () => {
  expect(refusalOf({ top_k: "many", output_config: 4 })).toEqual(["invalid_type", "output_config"]);
});

test("what is no JSON object is refused", () => {
  for (const body of ["", "[]", "{", '"text"']) {
    expect(() => translateMessages(Buffer.from(body), undefined)).toThrow(UntranslatableError);
  }
});

describe("the system prompt", () => {
  test("is one message, as a text or as blocks", () => {
    const blocks = [
      { type: "text", text: "A.", cache_control: {} },
      { type: "text", text: "B." },
    ];
    const hi = { role: "user", content: "hi" };
    expect(messagesOf([hi], { system: "A." })).toEqual([{ role: "system", content: "A." }, hi]);
    expect(messagesOf([hi], { system: blocks })).toEqual([
      { role: "system", content: "A.\n\nB." },
      hi,
    ]);
    for (const system of ["", [], null]) expect(messagesOf([hi], { system })).toEqual([hi]);
  });

  test("is the same for each request of Claude Code, without its attribution", () => {
    const line = (hash: string) =>
      `x-anthropic-billing-header: cc_version=2.1.154.${hash}; cc_entrypoint=cli; cch=${hash};`;
    const of = (system: unknown) => JSON.stringify(chatOf({ system })["messages"]);
    const rest = "You are Claude Code.";
    expect(of(`${line("abc")}\n\n${rest}`)).toBe(of(rest));
    const blocks = (hash: string) => [
      { type: "text", text: line(hash) },
      { type: "text", text: rest },
    ];
    expect(of(blocks("abc"))).toBe(of(rest));
    expect(of(blocks("abc"))).toBe(of(blocks("def")));
    expect(of(`Say ${line("abc")}`)).toContain("billing");
  });
});

describe("tools", () => {
  test("are functions, without what only Anthropic has", () => {
    const declared = {
      ...tool,
      type: "custom",
      cache_control: {},
      defer_loading: true,
      strict: true,
    };
    expect(chatOf({ tools: [declared] })).toMatchObject({ tools: [chatTool] });
    expect(chatOf({ tools: [] })).not.toHaveProperty("tools");
  });

  test.each([
    [{ type: "auto" }, { tool_choice: "auto" }],
    [{ type: "any" }, { tool_choice: "required" }],
    [{ type: "none" }, { tool_choice: "none" }],
    [
      { type: "tool", name: "f", disable_parallel_tool_use: true },
      {
        tool_choice: { type: "function", function: { name: "f" } },
        parallel_tool_calls: false,
      },
    ],
    [{ type: "auto", disable_parallel_tool_use: false }, { tool_choice: "auto" }],
  ])("are chosen: %j", (tool_choice, expected) => {
    const { tool_choice: choice, parallel_tool_calls } = chatOf({ tools: [tool], tool_choice });
    expect({ tool_choice: choice, parallel_tool_calls }).toEqual({
      parallel_tool_calls: undefined,
      ...expected,
    });
  });

  test("leave no choice where there are none", () => {
    expect(chatOf({ tool_choice: { type: "auto" } })).not.toHaveProperty("tool_choice");
  });
});

test("effort and format have chat's names", () => {
  const schema = { type: "object" };
  expect(
    chatOf({ output_config: { effort: "max", format: { type: "json_schema", schema } } }),
  ).toMatchObject({
    reasoning_effort: "high",
    response_format: {
      type: "json_schema",
      json_schema: { name: "output", schema, strict: true },
    },
  });
  expect(chatOf({ output_format: { type: "json_schema", schema } })).toHaveProperty(
    "response_format",
  );
});

test.each([
  [undefined, false],
  [{ type: "disabled" }, false],
  [{ type: "enabled", budget_tokens: 1_024 }, true],
  [{ type: "adaptive" }, true],
  [{ type: "adaptive", display: "omitted" }, false],
])("thinking %j: the client reads reasoning: %s", (thinking, shows) => {
  expect(translated({ thinking }).showsThinking).toBe(shows);
});
