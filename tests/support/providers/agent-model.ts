import { type RoutedProvider, startRoutedProvider } from "./routed-provider.ts";

interface ChatMessage {
  role: string;
  content: string | { text?: string }[] | null;
}

interface Tool {
  function: { name: string; parameters?: { properties?: Record<string, unknown> } };
}

interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  stream?: boolean;
  tools?: Tool[];
}

interface Call {
  name: string;
  args: object;
}

/**
 * A model that any coding agent can use: over chat completions alone, it writes the file that the prompt names
 * (`task-write:PATH`), with the tool that the agent offers for that, and then says so.
 *
 * @param contextTokens - what its models list says; undefined for nothing
 */
export function startAgentModel(contextTokens: number | undefined): Promise<RoutedProvider> {
  const entry = { id: "qwen3-coder:30b", object: "model" };
  const model = contextTokens === undefined ? entry : { ...entry, max_model_len: contextTokens };
  return startRoutedProvider({
    "GET /models": () => ({ json: { object: "list", data: [model] } }),
    "POST /chat/completions": ({ body }) => {
      const request = JSON.parse(body) as ChatRequest;
      const turn = turnFor(request);
      return request.stream === true
        ? { stream: streamOf(turn, request.model) }
        : { json: completionOf(turn, request.model) };
    },
  });
}

function turnFor({ messages, tools = [] }: ChatRequest): Call | string {
  if (tools.length === 0) return "A title";
  const prompts = messages.filter(({ role }) => role === "user").map(textOf);
  const path = [...prompts.join("\n").matchAll(/task-write:([\w./-]+)/g)].at(-1)?.[1];
  const isDone = messages.some(({ role }) => role === "tool");
  if (path === undefined || isDone) return "Noted.";
  return callOf(tools, path) ?? "There is no tool for that.";
}

/** By what its parameters are named, since every agent has tools of its own. */
function callOf(tools: readonly Tool[], path: string): Call | undefined {
  const named = (pattern: RegExp) => tools.find((tool) => pattern.test(tool.function.name));
  const write = named(/^(?:write|write_file|create)$/i);
  if (write !== undefined) {
    const [file = "", text = ""] = [/path$/i, /content|text/i].map((is) => parameterOf(write, is));
    return { name: write.function.name, args: { [file]: path, [text]: "two\n" } };
  }
  const shell = named(/^(?:exec_command|shell|bash)$/i);
  const command = shell && parameterOf(shell, /^(?:cmd|command)$/);
  if (shell === undefined || command === undefined) return undefined;
  return { name: shell.function.name, args: { [command]: `echo two > ${path}` } };
}

function parameterOf({ function: { parameters } }: Tool, is: RegExp): string | undefined {
  return Object.keys(parameters?.properties ?? {}).find((name) => is.test(name));
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text = "" }) => text).join("\n");
}

const usage = { prompt_tokens: 900, completion_tokens: 9, total_tokens: 909 };

function toolCall({ name, args }: Call) {
  return { id: "call_0", type: "function", function: { name, arguments: JSON.stringify(args) } };
}

function streamOf(turn: Call | string, model: string): string {
  const delta =
    typeof turn === "string"
      ? { content: turn }
      : { tool_calls: [{ index: 0, ...toolCall(turn) }] };
  const reason = typeof turn === "string" ? "stop" : "tool_calls";
  return [
    { choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    { choices: [], usage },
  ]
    .map((chunk) => `data: ${JSON.stringify({ ...head, model, ...chunk })}\n\n`)
    .concat("data: [DONE]\n\n")
    .join("");
}

const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1 };

function completionOf(turn: Call | string, model: string): object {
  const message =
    typeof turn === "string" ? { content: turn } : { content: null, tool_calls: [toolCall(turn)] };
  const choice = {
    index: 0,
    message: { role: "assistant", ...message },
    finish_reason: typeof turn === "string" ? "stop" : "tool_calls",
  };
  return { ...head, object: "chat.completion", model, choices: [choice], usage };
}
