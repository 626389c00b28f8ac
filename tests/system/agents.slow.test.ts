import { execFile, execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join as joinPath } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { isCompaction, promptTokensOf, startAgentModel } from "../support/providers/agent-model.ts";

const launcher = fileURLToPath(new URL("../../packages/cli/bin/roomhub.js", import.meta.url));
/** Where the programs are; too large to be installed for each run. `tests/README.md` says how to get them. */
const programs = process.env["AGENT_PROGRAMS"] ?? "";

interface Agent {
  program: string;
  /** runs one prompt without a terminal, with its tools allowed */
  args: string[];
  /** settings files of the user that lead elsewhere, by their paths in the home folder */
  own: Record<string, string>;
}

const nowhere = "http://127.0.0.1:9";
const agents: Agent[] = [
  {
    program: "claude",
    args: ["--allowedTools", "Write", "-p"],
    own: {
      ".claude/settings.json": JSON.stringify({
        env: { ANTHROPIC_BASE_URL: nowhere, ANTHROPIC_API_KEY: "sk-mine" },
        apiKeyHelper: "echo sk-mine",
        model: "sonnet",
      }),
    },
  },
  {
    program: "codex",
    args: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
    own: { ".codex/config.toml": `model = "gpt-5"\nmodel_context_window = 1000000\n` },
  },
  {
    program: "opencode",
    args: ["run"],
    // Without the first line it adds that line at each start.
    own: {
      ".config/opencode/opencode.json": `{\n  "$schema": "https://opencode.ai/config.json",\n  "model": "anthropic/claude-sonnet-4-5" }\n`,
    },
  },
  {
    program: "copilot",
    args: ["--allow-all-tools", "-p"],
    own: { ".copilot/settings.json": `{ "model": "gpt-5", "theme": "dark" }\n` },
  },
  {
    program: "qwen",
    args: ["--yolo", "-p"],
    own: {
      ".qwen/settings.json": JSON.stringify({
        $version: 4,
        security: { auth: { selectedType: "openai", baseUrl: nowhere, apiKey: "sk-mine" } },
        model: { name: "gpt-4" },
      }),
    },
  },
  {
    program: "pi",
    args: ["-p"],
    own: {
      ".pi/agent/settings.json": `{ "defaultProvider": "openai", "defaultModel": "gpt-5" }\n`,
    },
  },
];

/** @returns all that it wrote */
function run(words: string[], env: NodeJS.ProcessEnv, folder: string): Promise<string> {
  return new Promise((resolve) => {
    const options = { env, cwd: folder, timeout: 100_000, maxBuffer: 16 * 1024 * 1024 };
    const child = execFile(process.execPath, words, options, (_error, stdout, stderr) =>
      resolve(`${stdout}\n${stderr}`),
    );
    child.stdin?.end();
  });
}

function readIfThere(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

function isThere(program: string): boolean {
  try {
    accessSync(joinPath(programs, program), constants.X_OK);
    return programs !== "";
  } catch {
    return false;
  }
}

/** What its models list says. */
const contextTokens = 65_536;

/**
 * Has a program do what a prompt says, as `launch` starts it in an empty folder.
 *
 * @returns what it wrote, the file that it was to write, and its requests
 */
async function launched(
  { program, args, own }: Agent,
  task: "write" | "rewrite",
  isContextListed = true,
) {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startAgentModel(contextTokens, isContextListed));
  const hub = stack.use(await startTestHub());
  const code = await hub.createRoom();
  stack.use(await joinTunnel(hub, code, { endpoint: model.url, model: "qwen3-coder:30b" }));
  const home = stack.use(await temporaryFolder()).path;
  const tmp = joinPath(home, "tmp");
  mkdirSync(tmp);
  for (const [name, text] of Object.entries(own)) {
    mkdirSync(dirname(joinPath(home, name)), { recursive: true });
    writeFileSync(joinPath(home, name), text);
  }
  const work = joinPath(home, "work");
  execFileSync("git", ["init", "-q", work]);
  const note = joinPath(work, "note.txt");
  const env = {
    HOME: home,
    // opencode believes it.
    PWD: work,
    TMPDIR: tmp,
    XDG_CONFIG_HOME: "",
    PATH: [programs, process.env["PATH"]].join(delimiter),
    ANTHROPIC_API_KEY: "sk-mine",
    OPENAI_API_KEY: "sk-mine",
    DISABLE_AUTOUPDATER: "1",
  };
  const room = `${hub.url}/rooms/${code}`;
  const words = ["launch", program, room, "--", ...args, `task-${task}:${note}`];
  const output = await run([launcher, ...words], { ...process.env, ...env }, work);
  const settings = Object.keys(own).map((name) => readIfThere(joinPath(home, name)));
  const left = readdirSync(tmp).filter((name) => name.startsWith("roomhub-"));
  const { requests } = model;
  return { output, written: readIfThere(note), settings, left, requests: [...requests] };
}

for (const agent of agents) {
  const { program, own } = agent;
  const why = isThere(program) ? "" : " (skipped: it is not in the folder AGENT_PROGRAMS)";
  describe.skipIf(why !== "")(`${program}${why}`, () => {
    test.concurrent("writes a file with the room's model, and the user's settings stay as they are", async () => {
      const { output, written, settings, left, requests } = await launched(agent, "write");
      expect(written, output).toBe("two\n");
      expect(settings).toEqual(Object.values(own));
      expect(left).toEqual([]);
      const sent = requests.map(({ headers, body }) => JSON.stringify(headers) + body);
      expect(sent.join("\n")).not.toContain("sk-mine");
    });

    // Codex and Copilot CLI end with the error.
    test
      .skipIf(["codex", "copilot"].includes(program))
      .concurrent(
        "compacts its conversation when the model server refuses it as too long",
        async () => {
          const { output, requests } = await launched(agent, "rewrite", false);
          const bodies = requests
            .map(({ body }) => body)
            .filter((body) => body.includes("messages"));
          const sizes = bodies.map(promptTokensOf);
          expect(Math.max(...sizes), `${sizes.join(" ")}\n${output}`).toBeGreaterThan(
            contextTokens,
          );
          expect(sizes.at(-1), `${sizes.join(" ")}\n${output}`).toBeLessThan(contextTokens);
          expect(bodies.some(isCompaction), output).toBe(true);
        },
      );

    // pi does so between two prompts alone.
    test
      .skipIf(program === "pi")
      .concurrent(
        "compacts its conversation before the context that launch told it is full",
        async () => {
          const { output, settings, requests } = await launched(agent, "rewrite");
          const chats = requests.filter(({ url }) => url.endsWith("/chat/completions"));
          const bodies = chats.map(({ body }) => body).filter((body) => body.includes("messages"));
          const sizes = bodies.map(promptTokensOf);
          const at = bodies.findIndex(isCompaction);
          expect(at, `${sizes.join(" ")}\n${output}`).toBeGreaterThan(0);
          expect(Math.max(...sizes)).toBeLessThan(contextTokens);
          expect(sizes.at(-1)).toBeLessThan(Math.max(...sizes));
          expect(settings).toEqual(Object.values(own));
        },
      );
  });
}
