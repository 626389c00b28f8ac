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
  number: number;
  name: string;
  args: object;
}

/** How large a model reports prompts to be: a conversation that grows with each result of a tool. */
const growth = { firstTokens: 6_000, tokensPerResult: 3_000 };

/** What a model replies to an agent that compacts its conversation. */
const summary = "Summary: the file is written.";

/**
 * A model that any coding agent can use: over chat completions alone, it writes the file that the prompt names
 * (`task-write:PATH`), with the tool that the agent offers for that, and then says so. With `task-rewrite:PATH` it writes
 * it again until the agent has compacted the conversation.
 *
 * It refuses longer prompts than its context, in the words of llama.cpp.
 *
 * @param isListed - whether its models list has the context
 */
export function startAgentModel(contextTokens: number, isListed = true): Promise<RoutedProvider> {
  const entry = { id: "qwen3-coder:30b", object: "model" };
  const model = isListed ? { ...entry, max_model_len: contextTokens } : entry;
  return startRoutedProvider({
    "GET /models": () => ({ json: { object: "list", data: [model] } }),
    "POST /chat/completions": ({ body }) => {
      const request = JSON.parse(body) as ChatRequest;
      const turn = turnFor(request);
      const promptTokens = promptTokensOf(body);
      if (promptTokens > contextTokens) {
        return { status: 400, json: { error: tooLong(promptTokens, contextTokens) } };
      }
      const usage = usageOf(promptTokens);
      return request.stream === true
        ? { stream: streamOf(turn, request.model, usage) }
        : { json: completionOf(turn, request.model, usage) };
    },
  });
}

function tooLong(promptTokens: number, contextTokens: number) {
  const message = `request (${promptTokens} tokens) exceeds the available context size (${contextTokens} tokens), try increasing it`;
  return { code: 400, message, type: "exceed_context_size_error" };
}

/** What the model reports for a request's prompt. Without tools, as agents ask for a summary, it is shorter. */
export function promptTokensOf(body: string): number {
  const request = JSON.parse(body) as ChatRequest;
  const firstTokens = (request.tools ?? []).length === 0 ? 0 : growth.firstTokens;
  return firstTokens + growth.tokensPerResult * resultsIn(request);
}

/** In the words in which codex, Claude Code, Copilot, opencode, pi and Qwen Code ask for a summary. */
const askForSummary =
  /CONTEXT CHECKPOINT COMPACTION|summary (?:of|from) the conversation|PREFIX of a turn|<state_snapshot>/;

/** The agent has a conversation compacted. */
export function isCompaction(body: string): boolean {
  const { messages } = JSON.parse(body) as ChatRequest;
  const last = messages.findLast(({ role }) => role === "user");
  return last !== undefined && askForSummary.test(textOf(last));
}

function resultsIn({ messages }: ChatRequest): number {
  return messages.filter(({ role }) => role === "tool").length;
}

function turnFor(request: ChatRequest): Call | string {
  const { messages, tools = [] } = request;
  if (isCompaction(JSON.stringify(request))) return summary;
  if (tools.length === 0) return "A title";
  const prompts = messages.filter(({ role }) => role === "user").map(textOf);
  const [, again, path] =
    [...prompts.join("\n").matchAll(/task-(re)?write:([\w./-]+)/g)].at(-1) ?? [];
  const isDone =
    again === undefined ? resultsIn(request) > 0 : JSON.stringify(messages).includes(summary);
  if (path === undefined || isDone) return "Noted.";
  // Some agents measure a conversation by its text.
  const text = "two\n".repeat(again === undefined ? 1 : growth.tokensPerResult);
  return callOf(tools, path, text, resultsIn(request)) ?? "There is no tool for that.";
}

/** By what its parameters are named, since every agent has tools of its own. */
function callOf(
  tools: readonly Tool[],
  path: string,
  text: string,
  number: number,
): Call | undefined {
  const named = (pattern: RegExp) => tools.find((tool) => pattern.test(tool.function.name));
  const write = named(/^(?:write|write_file|create)$/i);
  if (write !== undefined) {
    const [file = "", content = ""] = [/path$/i, /content|text/i].map((is) =>
      parameterOf(write, is),
    );
    return { number, name: write.function.name, args: { [file]: path, [content]: text } };
  }
  const shell = named(/^(?:exec_command|shell|bash)$/i);
  const command = shell && parameterOf(shell, /^(?:cmd|command)$/);
  if (shell === undefined || command === undefined) return undefined;
  return { number, name: shell.function.name, args: { [command]: `echo two > ${path}` } };
}

function parameterOf({ function: { parameters } }: Tool, is: RegExp): string | undefined {
  return Object.keys(parameters?.properties ?? {}).find((name) => is.test(name));
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text = "" }) => text).join("\n");
}

type Usage = ReturnType<typeof usageOf>;

function usageOf(promptTokens: number) {
  return { prompt_tokens: promptTokens, completion_tokens: 9, total_tokens: promptTokens + 9 };
}

function toolCall({ number, name, args }: Call) {
  return {
    id: `call_${number}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  };
}

function streamOf(turn: Call | string, model: string, usage: Usage): string {
  const delta =
    typeof turn === "string"
      ? { content: turn }
      : { tool_calls: [{ index: 0, ...toolCall(turn) }] };
  const reason = typeof turn === "string" ? "stop" : "tool_calls";
  const id = idOf(usage);
  return [
    { choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    { choices: [], usage },
  ]
    .map((chunk) => `data: ${JSON.stringify({ ...head, id, model, ...chunk })}\n\n`)
    .concat("data: [DONE]\n\n")
    .join("");
}

const head = { object: "chat.completion.chunk", created: 1 };

/** Agents take responses of one id for one response. */
function idOf({ prompt_tokens: promptTokens }: Usage): string {
  return `chatcmpl-${promptTokens}`;
}

function completionOf(turn: Call | string, model: string, usage: Usage): object {
  const message =
    typeof turn === "string" ? { content: turn } : { content: null, tool_calls: [toolCall(turn)] };
  const choice = {
    index: 0,
    message: { role: "assistant", ...message },
    finish_reason: typeof turn === "string" ? "stop" : "tool_calls",
  };
  return { ...head, id: idOf(usage), object: "chat.completion", model, choices: [choice], usage };
}
