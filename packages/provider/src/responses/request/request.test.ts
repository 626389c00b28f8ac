import { expect, test } from "vitest";
import { codexRequest } from "../codex-request.fixture.ts";
import { translateRequest } from "./request.ts";
import { chatOf, refusalOf, translated } from "../translate.fixture.ts";
import { UntranslatableError } from "../../translation/placed-object.ts";

import * as fc from "fast-check";

const plain = { model: "llama", messages: [{ role: "user", content: "hi" }] };

test("the least a request can be is model and messages", () => {
  const { chat, model, isStream, toolNames } = translated({});
  expect(chat).toStrictEqual(plain);
  expect(model).toBe("llama");
  expect(isStream).toBe(false);
  expect(toolNames.size).toBe(0);
});

test.each([
  [{ max_output_tokens: 16 }, { max_tokens: 16 }],
  [{ temperature: 0 }, { temperature: 0 }],
  [{ top_p: 0.1 }, { top_p: 0.1 }],
  [{ presence_penalty: -2 }, { presence_penalty: -2 }],
  [{ frequency_penalty: 1.5 }, { frequency_penalty: 1.5 }],
  [{ top_logprobs: 5 }, { logprobs: true, top_logprobs: 5 }],
  [{ top_logprobs: 0 }, {}],
  [{ include: ["message.output_text.logprobs"] }, { logprobs: true }],
  [{ include: ["reasoning.encrypted_content"] }, {}],
  [{ reasoning: { effort: "high", summary: "auto" } }, { reasoning_effort: "high" }],
  [{ reasoning: { effort: "none" } }, {}],
  [{ reasoning: { effort: null } }, {}],
  [{ stream: true }, { stream: true, stream_options: { include_usage: true } }],
  [
    { stream: true, stream_options: { include_obfuscation: false } },
    { stream: true, stream_options: { include_usage: true } },
  ],
  [{ stream: false, stream_options: { include_obfuscation: false } }, {}],
  [{ store: true }, {}],
  [{ store: false, background: false, previous_response_id: null }, {}],
  [{ conversation: null, prompt: null }, {}],
  [{ metadata: { a: "b" }, client_metadata: { a: "b" } }, {}],
  [{ service_tier: "flex", truncation: "auto", max_tool_calls: 3 }, {}],
  [{ safety_identifier: "a", prompt_cache_key: "b" }, {}],
])("%j is %j in chat", (requested, expected) => {
  expect(chatOf(requested)).toStrictEqual({ ...plain, ...expected });
});

test("only a request with stream: true gets a stream", () => {
  expect(translated({ stream: true }).isStream).toBe(true);
  expect(translated({ stream: false }).isStream).toBe(false);
  expect(translated({ stream: null }).isStream).toBe(false);
});

test("fields the Responses API does not know pass unchanged", () => {
  const extensions = {
    top_k: 40,
    min_p: 0.05,
    seed: 9007199254740991,
    stop: ["\n"],
    user: "ada",
    think: false,
    logit_bias: { "50256": -100 },
    chat_template_kwargs: { enable_thinking: false },
    options: null,
  };
  expect(chatOf(extensions)).toStrictEqual({ ...plain, ...extensions });
});

test("a limit in chat's own words counts where the Responses field is absent", () => {
  expect(chatOf({ max_tokens: 5 })["max_tokens"]).toBe(5);
  expect(chatOf({ max_tokens: 5, max_output_tokens: 7 })["max_tokens"]).toBe(7);
});

test("messages that came beside the input do not count", () => {
  expect(chatOf({ messages: ["a"] })).toStrictEqual(plain);
});

test("a field called __proto__ is a field like any other, and changes no prototype", () => {
  const body = '{"model":"llama","input":"hi","__proto__":{"messages":[],"stream":true}}';
  const { chat, isStream } = translateRequest(Buffer.from(body));
  expect(isStream).toBe(false);
  expect(Object.getPrototypeOf(chat)).toBe(Object.prototype);
  expect(JSON.stringify(chat)).toContain('"__proto__":{"messages":[],"stream":true}');
});

test("an item whose fields are in its __proto__ has none", () => {
  const body = '{"model":"llama","input":[{"__proto__":{"role":"user","content":"hi"}}]}';
  expect(() => translateRequest(Buffer.from(body))).toThrow(UntranslatableError);
});

test.each([
  ["previous_response_id", "resp_1", "previous_response_not_found"],
  ["background", true, "unsupported_value"],
  ["conversation", "conv_1", "unsupported_value"],
  ["conversation", { id: "conv_1" }, "unsupported_value"],
  ["prompt", { id: "pmpt_1" }, "unsupported_value"],
])("%s that is %j is refused with %s", (param, value, code) => {
  expect(refusalOf({ [param]: value })).toEqual([code, param]);
});

test.each([
  ["model", null],
  ["stream", "true"],
  ["temperature", "hot"],
  ["top_p", true],
  ["max_output_tokens", "16"],
  ["top_logprobs", {}],
  ["include", "reasoning"],
  ["reasoning", "high"],
  ["previous_response_id", 1],
  ["background", "yes"],
])("%s that is %j is an invalid type", (param, value) => {
  expect(refusalOf({ [param]: value })).toEqual(["invalid_type", param]);
});

test("an effort that is a number is an invalid type", () => {
  expect(refusalOf({ reasoning: { effort: 1 } })).toEqual(["invalid_type", "reasoning.effort"]);
});

test("a number too large to be written again is an invalid type", () => {
  const body = Buffer.from('{"model":"llama","input":"hi","temperature":1e999}');
  expect(() => translateRequest(body)).toThrow(
    expect.objectContaining({ code: "invalid_type", param: "temperature" }),
  );
});

test.each(["", "null", "[]", "5", '"a"', "{", '{"model":"llama",}'])(
  "the body %j is no request",
  (body) => {
    expect(() => translateRequest(Buffer.from(body))).toThrow(
      expect.objectContaining({ name: "UntranslatableError", code: "invalid_type", param: "" }),
    );
  },
);

test("a message names the field and never repeats a long word", () => {
  const type = `${"x".repeat(500)}\u001b[31m`;
  expect(() => translated({ input: [{ type }] })).toThrow(/^An item of type "x{60}…" has no/);
});

test("a Codex request is translated as one conversation", () => {
  const { messages } = chatOf(codexRequest);
  expect(messages).toEqual([
    {
      role: "system",
      content: "You are a coding agent.\n\nSandbox: workspace-write.\n\nAnswer briefly.",
    },
    { role: "user", content: "# AGENTS.md\n<environment>/repo</environment>" },
    { role: "user", content: "Rename main to start." },
    {
      role: "assistant",
      content: "I will look around.",
      reasoning_content: "Look first.",
      tool_calls: [
        {
          id: "call_ls",
          type: "function",
          function: { name: "exec_command", arguments: '{"cmd":"ls"}' },
        },
        {
          id: "call_search",
          type: "function",
          function: { name: "mcp__docs__search", arguments: '{"query":"start"}' },
        },
      ],
    },
    { role: "tool", tool_call_id: "call_ls", content: "main.rs" },
    { role: "tool", tool_call_id: "call_search", content: "one page" },
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "high" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        {
          id: "call_patch",
          type: "function",
          function: {
            name: "apply_patch",
            arguments:
              '{"input":"*** Begin Patch\\n-fn main() {\\"a\\"}\\n+fn start() {\\"a\\"}\\n*** End Patch"}',
          },
        },
      ],
    },
    { role: "tool", tool_call_id: "call_patch", content: "Done" },
    { role: "system", content: "The user switched to read-only." },
    { role: "user", content: "Thanks, go on." },
  ]);
});

test("a Codex request keeps its tools and settings, and what is not for the provider stays behind", () => {
  const { messages: _, tools, ...settings } = chatOf(codexRequest);
  expect(settings).toStrictEqual({
    model: "qwen3-coder",
    tool_choice: "auto",
    parallel_tool_calls: true,
    reasoning_effort: "medium",
    verbosity: "low",
    stream: true,
    stream_options: { include_usage: true },
  });
  expect(tools).toMatchObject([
    { function: { name: "exec_command", strict: false } },
    { function: { name: "apply_patch", description: expect.stringContaining("start: patch") } },
    { function: { name: "mcp__docs__search", description: "Finds pages.\n\nThe manual." } },
    { function: { name: "mcp__docs__read", description: "Reads a page." } },
  ]);
  expect([...translated(codexRequest).toolNames]).toEqual([
    ["exec_command", { kind: "function", name: "exec_command", namespace: undefined }],
    ["apply_patch", { kind: "custom", name: "apply_patch", namespace: undefined }],
    ["mcp__docs__search", { kind: "function", name: "search", namespace: "mcp__docs__" }],
    ["mcp__docs__read", { kind: "function", name: "read", namespace: "mcp__docs__" }],
  ]);
});

/** Translates; anything thrown but a refusal that names a field is a bug and fails the test. */
function translateOrRefuse(body: unknown): void {
  try {
    const { chat, echo } = translateRequest(Buffer.from(JSON.stringify(body)));
    expect(Array.isArray(chat["messages"])).toBe(true);
    expect(Object.values(echo)).not.toContain(undefined);
  } catch (error) {
    if (!(error instanceof UntranslatableError)) throw error;
    expect(error.param).not.toBe("");
  }
}

const fields = [...Object.keys(codexRequest), "previous_response_id", "background", "metadata"];

test("any JSON in any field is translated or refused, nothing else", () => {
  const anyFields = fc.dictionary(fc.constantFrom(...fields), fc.jsonValue());
  fc.assert(
    fc.property(anyFields, (requested) =>
      translateOrRefuse({ model: "a", input: "b", ...requested }),
    ),
  );
});

test("a Codex request with anything put in anywhere is translated or refused, nothing else", () => {
  fc.assert(
    fc.property(fc.nat(), fc.jsonValue({ maxDepth: 1 }), (place, value) => {
      translateOrRefuse(withReplaced(codexRequest, place, value));
    }),
    { numRuns: 1000 },
  );
});

/** A copy with the value at one place, counted depth first, replaced. */
function withReplaced(request: object, place: number, value: unknown): unknown {
  let count = 0;
  JSON.stringify(request, (_, entry: unknown) => (count++, entry));
  const chosen = 1 + (place % (count - 1));
  let at = -1;
  return JSON.parse(
    JSON.stringify(request, (_, entry: unknown) => {
      at++;
      return at === chosen ? value : entry;
    }),
  );
}

test("fifty thousand items take no longer than their number", () => {
  const turns = Array.from({ length: 10_000 }, (_, n) => [
    { role: "user", content: `${n}` },
    { type: "reasoning", summary: [{ type: "summary_text", text: "a" }] },
    { type: "function_call", call_id: `${n}`, name: `tool${n}`, arguments: "{}" },
    { type: "function_call_output", call_id: `${n}`, output: "b" },
    { role: "system", content: "c" },
  ]);
  expect(translated({ input: turns.flat() }).chat["messages"]).toHaveLength(40_000);
});
