import { execFile } from "node:child_process";
import { accessSync, constants, readFileSync, writeFileSync } from "node:fs";
import { join as joinPath } from "node:path";
import { describe, expect, test } from "vitest";
import { join, PATHS } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { type RoutedProvider, startRoutedProvider } from "../support/providers/routed-provider.ts";

/** The program of `@anthropic-ai/claude-code`, which is too large to be installed for each test run. */
const claude = process.env["CLAUDE_CODE"] ?? "";
const title = isProgram(claude) ? "" : " (skipped: CLAUDE_CODE is not the path of a program)";

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return path !== "";
  } catch {
    return false;
  }
}

interface ChatMessage {
  role: string;
  content: string | { text?: string }[] | null;
  tool_calls?: { function: { name: string; arguments: string } }[];
}

interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  tools?: { function: { name: string } }[];
}

type Turn = { say: string } | { call: string; args: object };

/** A model that does what the last prompt names, over chat completions alone. */
function startModel(): Promise<RoutedProvider> {
  return startRoutedProvider({
    "POST /chat/completions": ({ body }) => {
      const request = JSON.parse(body) as ChatRequest;
      return { stream: streamOf(turnFor(request), request.model) };
    },
  });
}

/** Its own words between the prompts are about many things, so what to do stands behind a word of its own. */
const tasks = /task-(command|edit|remember|recall)(?::(\S+))?/g;

function turnFor({ messages, tools = [] }: ChatRequest): Turn {
  const prompts = messages.filter(({ role }) => role === "user").map(textOf);
  const given = [...prompts.join("\n").matchAll(tasks)];
  const [, task, about = ""] = given.at(-1) ?? [];
  const last = messages.at(-1);
  const result = last?.role === "tool" ? textOf(last) : undefined;
  const calls = messages.flatMap(({ tool_calls: called = [] }) => called).length;
  if (tools.length === 0) return { say: "A title" };
  switch (task) {
    case "command":
      if (result !== undefined) return { say: `The command said: ${result}` };
      return { call: "Bash", args: { command: "echo from-the-tool", description: "Says it" } };
    case "edit":
      if (calls === 0) return { call: "Read", args: { file_path: about } };
      if (calls > 1) return { say: `Edited: ${result ?? ""}` };
      return { call: "Edit", args: { file_path: about, old_string: "one", new_string: "two" } };
    case "recall":
      return { say: `It was ${given[0]?.[2] ?? "lost"}.` };
    default:
      return { say: "Noted." };
  }
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text = "" }) => text).join("\n");
}

function streamOf(turn: Turn, model: string): string {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ model, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const usage = { prompt_tokens: 900, completion_tokens: 9, total_tokens: 909 };
  const end = `data: ${JSON.stringify({ model, choices: [], usage })}\n\ndata: [DONE]\n\n`;
  const thought = chunk({ role: "assistant", reasoning_content: "Let me see." });
  if ("say" in turn) {
    const [first = "", ...rest] = turn.say.split(/(?= )/);
    const said = [first, ...rest].map((content) => chunk({ content })).join("");
    return thought + said + chunk({}, "stop") + end;
  }
  const text = JSON.stringify(turn.args);
  const begun = { index: 0, id: "functions.x:0", function: { name: turn.call, arguments: "" } };
  const pieces = text.match(/.{1,7}/gs) ?? [];
  const called = pieces.map((piece) =>
    chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
  );
  return thought + chunk({ tool_calls: [begun] }) + called.join("") + chunk({}, "stop") + end;
}

interface Result {
  result: string;
  is_error: boolean;
  num_turns: number;
  session_id: string;
}

/** Runs it without a terminal, in a folder and with a home of its own. */
function run(hub: TestHub, code: string, folder: string, args: string[]): Promise<Result> {
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    ANTHROPIC_BASE_URL: `${hub.url}/rooms/${code}`,
    ANTHROPIC_AUTH_TOKEN: "roomhub",
    ANTHROPIC_MODEL: "qwen3-coder",
    ANTHROPIC_DEFAULT_HAIKU_MODEL: "qwen3-coder",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
  };
  const options = ["--output-format", "json", "--allowedTools", "Bash", "Read", "Edit"];
  return new Promise((resolve, reject) => {
    const child = execFile(
      claude,
      ["-p", ...args, ...options],
      { env, cwd: folder, timeout: 100_000, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => {
        try {
          resolve(JSON.parse(stdout) as Result);
        } catch {
          reject(new Error(`${stdout}\n${stderr}`, { cause: error }));
        }
      },
    );
    child.stdin?.end();
  });
}

describe.skipIf(title !== "").each(PATHS)(`Claude Code over chat alone, by %s${title}`, (path) => {
  async function lab() {
    await using stack = new AsyncDisposableStack();
    const model = stack.use(await startModel());
    const hub = stack.use(await startTestHub());
    const folder = stack.use(await temporaryFolder()).path;
    const code = await hub.createRoom();
    stack.use(await join(path, hub, code, { endpoint: model.url, model: "qwen3-coder" }));
    const owned = stack.move();
    return {
      model,
      folder,
      run: (...args: string[]) => run(hub, code, folder, args),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  }

  test("responds, and its prompt has no line that changes with each request", async () => {
    await using one = await lab();
    const { result, is_error } = await one.run("task-remember:42");
    expect({ result, is_error }).toEqual({ result: "Noted.", is_error: false });
    const bodies = one.model.requests.map(({ body }) => body);
    expect(bodies.some((body) => body.includes("task-remember:42"))).toBe(true);
    expect(bodies.join("\n")).not.toContain("x-anthropic-billing-header");
  });

  test("runs a command and reads what it said", async () => {
    await using one = await lab();
    const { result } = await one.run("task-command");
    expect(result).toContain("The command said: from-the-tool");
  });

  test("edits a file", async () => {
    await using one = await lab();
    const file = joinPath(one.folder, "note.txt");
    writeFileSync(file, "one\n");
    const { result } = await one.run(`task-edit:${file}`);
    expect(result).toContain("Edited");
    expect(readFileSync(file, "utf8")).toBe("two\n");
  });

  test("continues a conversation in a second turn", async () => {
    await using one = await lab();
    const first = await one.run("task-remember:42");
    const second = await one.run("task-recall", "--resume", first.session_id);
    expect(second.result).toBe("It was 42.");
  });
});
