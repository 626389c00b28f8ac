const ephemeral = { type: "ephemeral" };

/**
 * A request as Claude Code sends it in the middle of a task: tools, thinking, parallel calls, an image in a result, a
 * system message between others. The words are invented, the fields are Claude Code's.
 */
export const claudeCodeRequest = {
  model: "qwen3-coder",
  max_tokens: 32_000,
  stream: true,
  metadata: { user_id: '{"session_id":"0195"}' },
  system: [
    {
      type: "text",
      text: "x-anthropic-billing-header: cc_version=2.1.154.f3a; cc_entrypoint=cli; cch=5c0d1;",
    },
    { type: "text", text: "You are a coding agent.", cache_control: ephemeral },
    { type: "text", text: "# Environment\ncwd: /repo", cache_control: ephemeral },
  ],
  thinking: { type: "adaptive" },
  output_config: { effort: "medium" },
  context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  tools: [
    {
      name: "Bash",
      description: "Runs a command.",
      input_schema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: { command: { type: "string" } },
        required: ["command"],
        additionalProperties: false,
      },
    },
    { name: "Read", description: "Reads a file.", input_schema: { type: "object" } },
    {
      name: "mcp__a_server_with_quite_a_long_name__and_a_tool_with_a_name_that_is_longer",
      input_schema: { type: "object", properties: {} },
      cache_control: ephemeral,
    },
  ],
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "<system-reminder>\nToday is Monday.\n</system-reminder>" },
        { type: "text", text: "What is in the picture?" },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Look first.", signature: "EqQB" },
        { type: "text", text: "I will look." },
        { type: "tool_use", id: "toolu_01", name: "Bash", input: { command: "ls" } },
        { type: "tool_use", id: "toolu_02", name: "Read", input: { file_path: "/repo/a.png" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_01", content: "a.png", is_error: false },
        {
          type: "tool_result",
          tool_use_id: "toolu_02",
          content: [
            {
              type: "image",
              source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
            },
          ],
        },
      ],
    },
    { role: "system", content: "The user switched to plan mode." },
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "toolu_03", name: "Bash", input: { command: "false" } }],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_03", content: "exit 1", is_error: true },
        { type: "text", text: "Go on.", cache_control: ephemeral },
      ],
    },
  ],
};
