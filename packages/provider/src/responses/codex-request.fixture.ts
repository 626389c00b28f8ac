/**
 * A request as Codex sends it in the middle of a task: the whole history, nothing stored, tools in namespaces. The words
 * are invented, the fields are Codex'.
 */
export const codexRequest = {
  model: "qwen3-coder",
  instructions: "You are a coding agent.",
  input: [
    message("developer", "Sandbox: workspace-write."),
    message("developer", "Answer briefly."),
    message("user", "# AGENTS.md", "<environment>/repo</environment>"),
    message("user", "Rename main to start."),
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "Look first." }],
      content: null,
      encrypted_content: "gAAAAABo",
    },
    {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "I will look around." }],
      phase: "commentary",
    },
    {
      type: "function_call",
      name: "exec_command",
      arguments: '{"cmd":"ls"}',
      call_id: "call_ls",
    },
    {
      type: "function_call",
      name: "search",
      namespace: "mcp__docs__",
      arguments: '{"query":"start"}',
      call_id: "call_search",
    },
    { type: "function_call_output", call_id: "call_ls", output: "main.rs" },
    {
      type: "function_call_output",
      call_id: "call_search",
      output: [
        { type: "input_text", text: "one page" },
        { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "high" },
      ],
    },
    { type: "reasoning", id: "rs_2", summary: [], encrypted_content: "gAAAAABp" },
    {
      type: "custom_tool_call",
      status: "completed",
      call_id: "call_patch",
      name: "apply_patch",
      input: '*** Begin Patch\n-fn main() {"a"}\n+fn start() {"a"}\n*** End Patch',
    },
    { type: "custom_tool_call_output", call_id: "call_patch", output: "Done" },
    message("developer", "The user switched to read-only."),
    message("user", "Thanks, go on."),
  ],
  tools: [
    {
      type: "function",
      name: "exec_command",
      description: "Runs a command.",
      strict: false,
      parameters: { type: "object", properties: { cmd: { type: "string" } }, required: ["cmd"] },
    },
    {
      type: "custom",
      name: "apply_patch",
      description: "Edits files.",
      format: { type: "grammar", syntax: "lark", definition: "start: patch" },
    },
    {
      type: "namespace",
      name: "mcp__docs__",
      description: "The manual.",
      tools: [
        {
          type: "function",
          name: "search",
          description: "Finds pages.",
          strict: false,
          parameters: { type: "object", properties: { query: { type: "string" } } },
        },
        { type: "function", name: "read", description: "Reads a page.", parameters: null },
      ],
    },
    { type: "web_search", external_web_access: true },
  ],
  tool_choice: "auto",
  parallel_tool_calls: true,
  reasoning: { effort: "medium", summary: "auto" },
  store: false,
  stream: true,
  include: ["reasoning.encrypted_content"],
  prompt_cache_key: "0195-thread",
  text: { verbosity: "low" },
  client_metadata: { "x-codex-installation-id": "1" },
};

function message(role: string, ...texts: string[]) {
  const content = texts.map((text) => ({ type: "input_text", text }));
  return { type: "message", role, content };
}
