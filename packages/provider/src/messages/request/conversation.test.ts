import { describe, expect, test } from "vitest";
import { messagesOf, refusalOf, translated } from "../message.fixture.ts";

const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: unknown) => ({ role: "assistant", content });
const system = (content: unknown) => ({ role: "system", content });
const text = (text: string) => ({ type: "text", text });
const use = (id: string, name = "f", input: unknown = { a: 1 }) => {
  return { type: "tool_use", id, name, input };
};
const result = (id: string, more: object = {}) => ({
  type: "tool_result",
  tool_use_id: id,
  ...more,
});
const png = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const chatPng = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
const chatCall = (id: string, name = "f", args = '{"a":1}') => {
  return { id, type: "function", function: { name, arguments: args } };
};
const tool = (id: string, content: string) => ({ role: "tool", tool_call_id: id, content });

test("texts are plain strings, and messages of one role in a row are one", () => {
  expect(
    messagesOf([
      user("a"),
      user([text("b"), { ...text("c"), cache_control: { type: "ephemeral" } }]),
      assistant([text("d"), text("e")]),
      user("f"),
    ]),
  ).toEqual([
    { role: "user", content: "a\nb\nc" },
    { role: "assistant", content: "d\n\ne" },
    { role: "user", content: "f" },
  ]);
});

test("images and text documents become parts of the user's message", () => {
  const url = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
  const document = {
    type: "document",
    title: "Notes",
    context: "From May.",
    citations: { enabled: true },
    source: { type: "text", media_type: "text/plain", data: "It rained." },
  };
  const content = { type: "document", source: { type: "content", content: [text("one"), png] } };
  expect(messagesOf([user([png, url, text("Which?")])])).toEqual([
    user([
      chatPng,
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      text("Which?"),
    ]),
  ]);
  expect(messagesOf([user([document, text("When?")])])).toEqual([
    user("Notes\nFrom May.\nIt rained.\nWhen?"),
  ]);
  expect(messagesOf([user([content])])).toEqual([user([text("one"), chatPng])]);
});

describe("results of calls", () => {
  test("follow in the order of the calls, then their images, then the rest of the message", () => {
    expect(
      messagesOf([
        user("go"),
        assistant([text("Looking."), use("toolu_1"), use("toolu_2", "g", {})]),
        user([
          text("first of all"),
          result("toolu_2", { content: [text("two"), png, text("2")] }),
          result("toolu_1", { content: "one" }),
          text("and then"),
        ]),
      ]),
    ).toEqual([
      user("go"),
      {
        role: "assistant",
        content: "Looking.",
        tool_calls: [chatCall("toolu_1"), chatCall("toolu_2", "g", "{}")],
      },
      tool("toolu_1", "one"),
      tool("toolu_2", "two\n2"),
      user([chatPng, text("first of all"), text("and then")]),
    ]);
  });

  test("may be empty, and failures are marked", () => {
    expect(
      messagesOf([
        user("go"),
        assistant([use("toolu_1"), use("toolu_2"), use("toolu_3")]),
        user([
          result("toolu_1"),
          result("toolu_2", { content: "no such file", is_error: true }),
          result("toolu_3", { content: [] }),
        ]),
      ]),
    ).toEqual([
      user("go"),
      {
        role: "assistant",
        content: null,
        tool_calls: [chatCall("toolu_1"), chatCall("toolu_2"), chatCall("toolu_3")],
      },
      tool("toolu_1", ""),
      tool("toolu_2", "Error: no such file"),
      tool("toolu_3", ""),
    ]);
  });

  test("may come in several user messages", () => {
    const messages = messagesOf([
      user("go"),
      assistant([use("toolu_1"), use("toolu_2")]),
      user([result("toolu_1", { content: "1" })]),
      user([result("toolu_2", { content: "2" })]),
    ]) as object[];
    expect(messages.slice(2)).toEqual([tool("toolu_1", "1"), tool("toolu_2", "2")]);
  });

  test("are refused without their call, twice, or when one is missing", () => {
    const called = [user("go"), assistant([use("toolu_1"), use("toolu_2")])];
    const one = result("toolu_1");
    expect(refusalOf({ messages: [user([one])] })).toEqual([
      "unsupported_value",
      "messages[0].content[0].tool_use_id",
    ]);
    expect(refusalOf({ messages: [...called, user([one, result("toolu_2"), one])] })).toEqual([
      "unsupported_value",
      "messages[2].content[2].tool_use_id",
    ]);
    for (const rest of [[user([one])], [user("well?")], []]) {
      const [code, path] = refusalOf({ messages: [...called, ...rest] });
      expect([code, path.slice(0, 20)]).toEqual(["unsupported_value", "messages[1].content["]);
    }
    expect(refusalOf({ messages: [user("go"), assistant([use("a"), use("a")])] })).toEqual([
      "unsupported_value",
      "messages[1].content[1].id",
    ]);
  });

  test("are translated however many there are in one turn, with all that they hold", () => {
    const many = 130_000;
    const ids = Array.from({ length: many }, (_, index) => `toolu_${index}`);
    const results = ids.toReversed().map((id) => result(id));
    const { chat } = translated({
      messages: [user("go"), assistant(ids.map((id) => use(id))), user(results)],
    });
    expect(chat.messages).toHaveLength(2 + many);
    const content = ids.map((url) => ({ type: "image", source: { type: "url", url } }));
    const document = { type: "document", source: { type: "content", content } };
    const held = [result("a", { content: [document] }), document];
    const holding = translated({ messages: [user("go"), assistant([use("a")]), user(held)] });
    expect(holding.chat.messages.at(-1)?.content).toHaveLength(2 * many);
  });

  test("name the provider's own id where the client got another", () => {
    const id = `toolu_rh_${Buffer.from("functions.f:0").toString("base64url")}`;
    const messages = [user("go"), assistant([use(id)]), user([result(id, { content: "1" })])];
    expect(messagesOf(messages)).toEqual([
      user("go"),
      { role: "assistant", content: null, tool_calls: [chatCall("functions.f:0")] },
      tool("functions.f:0", "1"),
    ]);
    expect([...translated({ messages }).callIds]).toEqual([id]);
  });

  test("go with names that chat takes, however long the client's are", () => {
    const name = `mcp__${"server".repeat(12)}__read`;
    const messages = [user("go"), assistant([use("a", name)]), user([result("a")])];
    const request = translated({ messages, tools: [{ name, input_schema: { type: "object" } }] });
    const chat = JSON.parse(JSON.stringify(request.chat)) as {
      tools: { function: { name: string } }[];
      messages: { tool_calls: { function: { name: string } }[] }[];
    };
    const short = chat.tools[0]!.function.name;
    expect(short.length).toBeLessThanOrEqual(64);
    expect(chat.messages[1]!.tool_calls[0]!.function.name).toBe(short);
    expect(request.toolNames.get(short)?.name).toBe(name);
  });
});

describe("system messages inside of the conversation", () => {
  const reminder = (inside: string) => `<system-reminder>\n${inside}\n</system-reminder>`;

  test("stand at the end of the user message before them", () => {
    expect(messagesOf([user("a"), system("s"), assistant("b"), user("c")])).toEqual([
      user(`a\n${reminder("s")}`),
      assistant("b"),
      user("c"),
    ]);
  });

  test("stand at the head of the next user message behind one of the assistant", () => {
    expect(
      messagesOf([user("a"), assistant("b"), system([text("s"), text("t")]), user("c")]),
    ).toEqual([user("a"), assistant("b"), user(`${reminder("s\nt")}\nc`)]);
  });

  test("are a message of their own when none follows, and between two of the assistant", () => {
    expect(messagesOf([user("a"), assistant("b"), system("s")])).toEqual([
      user("a"),
      assistant("b"),
      user(reminder("s")),
    ]);
    expect(messagesOf([user("a"), assistant("b"), system("s"), assistant("c"), user("d")])).toEqual(
      [user("a"), assistant("b"), user(reminder("s")), assistant("c"), user("d")],
    );
  });

  test("stand behind the last result, never between a call and its result", () => {
    const calls = { role: "assistant", content: null, tool_calls: [chatCall("x")] };
    const called = [user("a"), assistant([use("x")])];
    const answered = user([result("x", { content: "1" }), text("b")]);
    expect(messagesOf([...called, system("s"), answered])).toEqual([
      user("a"),
      calls,
      tool("x", "1"),
      user(`${reminder("s")}\nb`),
    ]);
    expect(messagesOf([...called, user([result("x", { content: "1" })]), system("s")])).toEqual([
      user("a"),
      calls,
      tool("x", "1"),
      user(reminder("s")),
    ]);
  });

  test("are never hoisted, the first one neither", () => {
    expect(messagesOf([system("s"), user("a")], { system: "Be brief." })).toEqual([
      system("Be brief."),
      user(`${reminder("s")}\na`),
    ]);
  });
});

test("thinking in the history is kept apart, signed by this hub or by another server; what is encrypted is left out", () => {
  expect(
    messagesOf([
      user("a"),
      assistant([
        { type: "thinking", thinking: "Simple.", signature: "" },
        { type: "redacted_thinking", data: "gAAA" },
        { type: "thinking", thinking: "Sure.", signature: "foreign" },
        text("4"),
      ]),
      user("b"),
    ]),
  ).toEqual([
    user("a"),
    { role: "assistant", content: "4", reasoning_content: "Simple.\n\nSure." },
    user("b"),
  ]);
});

describe("a last message of the assistant", () => {
  const messages = [user("2+2?"), assistant("It is")];

  test("goes to servers that continue it", () => {
    expect(translated({ messages }, "llama.cpp").chat).not.toHaveProperty("continue_final_message");
    expect(translated({ messages }, "vLLM").chat).toMatchObject({
      add_generation_prompt: false,
      continue_final_message: true,
    });
  });

  test("is refused where the server is not known to", () => {
    for (const program of [undefined, "Ollama", "cloud"] as const) {
      expect(refusalOf({ messages }, program)).toEqual(["unsupported_value", "messages[1]"]);
    }
  });
});

test.each([
  [{ messages: [] }, ["unsupported_value", "messages"]],
  [{ messages: "hi" }, ["invalid_type", "messages"]],
  [{ messages: [{ role: "tool", content: "" }] }, ["unsupported_value", "messages[0].role"]],
  [{ messages: [user(4)] }, ["invalid_type", "messages[0].content"]],
  [
    { messages: [user([{ type: "search_result" }])] },
    ["unsupported_value", "messages[0].content[0].type"],
  ],
  [
    { messages: [user([{ type: "image", source: { type: "file", file_id: "f" } }])] },
    ["unsupported_value", "messages[0].content[0].source.type"],
  ],
  [
    {
      messages: [
        user([
          { type: "document", source: { type: "base64", media_type: "application/pdf", data: "" } },
        ]),
      ],
    },
    ["unsupported_value", "messages[0].content[0].source.type"],
  ],
  [
    { messages: [user("a"), assistant([{ type: "server_tool_use" }])] },
    ["unsupported_value", "messages[1].content[0].type"],
  ],
  [
    { messages: [user("a"), assistant([use("x", "f", "text")])] },
    ["invalid_type", "messages[1].content[0].input"],
  ],
])("%j is refused with the place that is wrong", (requested, refusal) => {
  expect(refusalOf(requested)).toEqual(refusal);
});
