import { parse as parseToml } from "smol-toml";
import { expect } from "vitest";
import { parse as parseYaml } from "yaml";
import { createParticipant } from "@roomhub/participant";
import type { GuideLab } from "../../support/documents/guide-lab.ts";
import { missingInPython } from "../../support/programs/python.ts";
import { missingInRuby } from "../../support/programs/ruby.ts";
import type { BlockPlan } from "./block-plan.ts";

const messages = [{ role: "user", content: "Hello!" }];

/** Programs with windows and gigabytes are not here; their settings are read as they read them, and used. */
const notHere = (program: string) => `${program} is not run here; what it is told is used`;

export const clients: readonly BlockPlan[] = [
  {
    begins: "curl http",
    async follow(block, lab) {
      const answers = (await lab.shell(block.replaceAll("\n", "\necho\n"))).trim().split("\n");
      expect(answers).toHaveLength(3);
      expect(answers[0]).toContain('"id":"ben"');
      for (const answer of answers.slice(1)) expect(answer).toContain("Hello!");
    },
  },
  {
    begins: "npx roomhub launch",
    cannot: notHere("Claude Code"),
    async follow(block, lab) {
      const printed = await lab.shell(`${block.trim()} --print 2>/dev/null`);
      expect(printed).toContain("export ANTHROPIC_MODEL=llama3.2");
      expect(printed).toContain("claude --settings ");
    },
  },
  {
    begins: 'eval "$(npx roomhub env',
    cannot: notHere("The programs"),
    async follow(block, lab) {
      const lines = block.trim().split("\n");
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines) {
        const [, program = "openai"] = / --for (\w+)/.exec(line) ?? [];
        const [, command = ""] = /(npx roomhub env [^)#>]*)/.exec(line) ?? [];
        const printed = await lab.shell(`${command.trim()} --json`);
        await usesRoom(program, JSON.parse(printed) as Printed);
      }
    },
  },
  {
    begins: "const openai = new OpenAI",
    cannot: "tests of both SDKs make its calls, with servers that have these surfaces",
  },
  {
    begins: "npx roomhub alias",
    async follow(block, lab) {
      const told = await lab.shell(`{\n${block}} 2>&1`);
      expect(told).toMatch(/^claude-\* stands for llama3\.2, \* .*\ngpt-\* stands for llama3\.2 /);
      for (const model of ["claude-sonnet-4-5", "gpt-5"]) {
        await answersChat(`${lab.invite}/v1`, "roomhub", model);
      }
    },
  },
];

export const clientSettings: readonly BlockPlan[] = [
  {
    begins: "export ENABLE_OLLAMA_API",
    cannot: notHere("Open WebUI"),
    async follow(block, lab) {
      const listing = await lab.shell(
        `${block.replace("open-webui serve\n", "")}
curl "$OPENAI_API_BASE_URL/models" -H "authorization: Bearer $OPENAI_API_KEY"`,
      );
      const { data } = JSON.parse(listing) as { data: { id: string; name: string }[] };
      expect(data.map(({ name }) => name)).toEqual(["Ben (llama3.2)"]);
    },
  },
  {
    begins: 'model = "llama3.2"',
    cannot: notHere("Codex"),
    async follow(block, lab) {
      const settings = parseToml(lab.here(block)) as unknown as CodexSettings;
      const provider = settings.model_providers[settings.model_provider];
      expect(provider?.wire_api).toBe("responses");
      const body = { model: settings.model, input: "Hello!" };
      await answers(`${provider?.base_url}/responses`, undefined, body);
    },
  },
  {
    begins: '{\n  "provider"',
    cannot: notHere("opencode"),
    async follow(block, lab) {
      const { provider, model } = JSON.parse(lab.here(block)) as OpencodeSettings;
      const [name = "", modelName = ""] = model.split("/");
      const { npm, options, models } = provider[name] ?? never(name);
      expect(npm).toBe("@ai-sdk/openai-compatible");
      expect(Object.keys(models)).toEqual([modelName]);
      await answersChat(options.baseURL, options.apiKey, modelName);
    },
  },
  {
    begins: "name: Our room",
    cannot: notHere("Continue"),
    async follow(block, lab) {
      const { models } = parseYaml(lab.here(block)) as { models: ContinueModel[] };
      for (const { provider, apiBase, apiKey, model } of models) {
        expect(provider).toBe("openai");
        await answersChat(apiBase, apiKey, model);
      }
    },
  },
  {
    begins: "version: 1.2.1",
    cannot: notHere("LibreChat"),
    async follow(block, lab) {
      const { endpoints } = parseYaml(lab.here(block)) as LibreChatSettings;
      for (const { baseURL, apiKey, models } of endpoints.custom) {
        expect(models.fetch).toBe(true);
        for (const model of models.default) await answersChat(baseURL, apiKey, model);
      }
    },
  },
  { begins: "export ANTHROPIC_BASE_URL", cannot: notHere("Claude Code"), follow: askForMessages },
  {
    begins: "export COPILOT_PROVIDER_TYPE",
    cannot: notHere("Copilot CLI"),
    async follow(block, lab) {
      const told = await lab.shell(
        `${block.replace(/^copilot\n/m, "")}echo "$COPILOT_PROVIDER_BASE_URL $COPILOT_PROVIDER_API_KEY $COPILOT_MODEL"`,
      );
      const [baseUrl = "", key = "", model = ""] = told.trim().split(" ");
      await answersChat(baseUrl, key, model);
    },
  },
  {
    begins: "cline auth",
    cannot: notHere("Cline"),
    async follow(block, lab) {
      await usesRoom("cline", { command: lab.here(block).trim().split(" ") });
    },
  },
  {
    begins: "export OPENAI_API_BASE",
    cannot: notHere("Aider"),
    async follow(block, lab) {
      const told = await lab.shell(
        `${block.replace(/^aider\n/m, "")}echo "$OPENAI_API_BASE $OPENAI_API_KEY $AIDER_MODEL"`,
      );
      const [baseUrl = "", key = "", model = ""] = told.trim().split(" ");
      await answersChat(baseUrl, key, model.replace(/^openai\//, ""));
    },
  },
  {
    begins: "import { ChatOpenAI }",
    async follow(block, lab) {
      await using program = lab.script(`${lab.here(block)}console.log(text);`);
      await program.says(/Hello!/);
    },
  },
  {
    begins: "from openai",
    missing: missingInPython("openai"),
    async follow(block, lab) {
      expect(await lab.shell(`python3 - <<'EOF'\n${block}EOF`)).toContain("Hello!");
    },
  },
  {
    begins: "from anthropic",
    missing: missingInPython("anthropic"),
    async follow(block, lab) {
      expect(await lab.shell(`python3 - <<'EOF'\n${block}EOF`)).toContain("Hello!");
    },
  },
  {
    begins: "- model_id: room",
    cannot: "llm is run with such a file where it is installed; its settings are used",
    async follow(block, lab) {
      const [model] = parseYaml(lab.here(block)) as [{ model_name: string; api_base: string }];
      await answersChat(model.api_base, "roomhub", model.model_name);
    },
  },
  {
    begins: 'require "ruby_llm"',
    missing: missingInRuby("ruby_llm"),
    async follow(block, lab) {
      expect(await lab.shell(`ruby -W0 - <<'EOF'\n${block}EOF`)).toBe("Hello!\n");
    },
  },
  {
    begins: "from langchain_openai",
    missing: missingInPython("langchain_openai"),
    async follow(block, lab) {
      expect(await lab.shell(`python3 - <<'EOF'\n${block}EOF`)).toContain("Hello!");
    },
  },
];

/** What `roomhub env --json` prints. */
type Printed = Record<string, unknown>;

/** Sends a request with what was printed for a program, as that program would. */
async function usesRoom(program: string, printed: Printed): Promise<void> {
  const of = (name: string) => String(printed[name]);
  const words = (printed["command"] ?? []) as string[];
  const after = (option: string) => words[words.indexOf(option) + 1] ?? "";
  switch (program) {
    case "openai":
      return answersChat(of("OPENAI_BASE_URL"), of("OPENAI_API_KEY"), "llama3.2");
    case "aider":
      return answersChat(
        of("OPENAI_API_BASE"),
        of("OPENAI_API_KEY"),
        of("AIDER_MODEL").replace(/^openai\//, ""),
      );
    case "copilot":
      return answersChat(
        of("COPILOT_PROVIDER_BASE_URL"),
        of("COPILOT_PROVIDER_API_KEY"),
        of("COPILOT_MODEL"),
      );
    case "claude":
      return answers(
        `${of("ANTHROPIC_BASE_URL")}/v1/messages?beta=true`,
        of("ANTHROPIC_AUTH_TOKEN"),
        {
          model: of("ANTHROPIC_DEFAULT_HAIKU_MODEL"),
          max_tokens: 9,
          messages,
        },
      );
    case "codex": {
      const url = words.find((word) => word.startsWith("model_providers.room.base_url=")) ?? "";
      const body = { model: after("-m"), input: "Hello!" };
      return answers(`${url.split("=")[1]}/responses`, undefined, body);
    }
    case "cline":
      return answersChat(after("--baseurl"), after("--apikey"), after("--modelid"));
    case "opencode": {
      const { provider, model } = JSON.parse(of("OPENCODE_CONFIG_CONTENT")) as OpencodeSettings;
      const [name = "", modelName = ""] = model.split("/");
      const { options, models } = provider[name] ?? never(name);
      expect(Object.keys(models)).toEqual([modelName]);
      return answersChat(options.baseURL, options.apiKey, modelName);
    }
    case "continue": {
      const { models } = parseYaml(of("text")) as { models: ContinueModel[] };
      for (const { apiBase, apiKey, model } of models) await answersChat(apiBase, apiKey, model);
      return;
    }
    default:
      throw new Error(`nothing is known of ${program}`);
  }
}

interface CodexSettings {
  model: string;
  model_provider: string;
  model_providers: Record<string, { base_url: string; wire_api: string }>;
}

interface OpencodeSettings {
  model: string;
  provider: Record<
    string,
    { npm: string; options: { baseURL: string; apiKey: string }; models: Record<string, unknown> }
  >;
}

interface ContinueModel {
  provider: string;
  model: string;
  apiBase: string;
  apiKey: string;
}

interface LibreChatSettings {
  endpoints: {
    custom: { baseURL: string; apiKey: string; models: { default: string[]; fetch: boolean } }[];
  };
}

function answersChat(baseUrl: string, key: string, model: string): Promise<void> {
  return answers(`${baseUrl}/chat/completions`, key, { model, messages });
}

async function answers(url: string, key: string | undefined, body: object): Promise<void> {
  const headers = new Headers(key === undefined ? {} : { authorization: `Bearer ${key}` });
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Hello!")]);
}

/** As Claude Code does: for every model in its settings, with its `?beta=true`. */
async function askForMessages(block: string, lab: GuideLab): Promise<void> {
  const asked: string[] = [];
  await using quin = createParticipant({
    hubUrl: lab.hub.url,
    room: lab.code,
    id: "quin",
    nickname: "Quin",
    model: "qwen3-coder",
    capabilities: { messages: "supported" },
    serve: (request) => {
      asked.push(new URL(request.url).pathname);
      return Response.json({ type: "message", content: [{ type: "text", text: "Hello!" }] });
    },
    env: {},
  });
  await quin.start();
  const ask = (model: string) => `curl "$ANTHROPIC_BASE_URL/v1/messages?beta=true" \\
  -H "authorization: Bearer $ANTHROPIC_AUTH_TOKEN" -H "anthropic-version: 2023-06-01" \\
  -d '{"model":"'"${model}"'","max_tokens":'"$CLAUDE_CODE_MAX_OUTPUT_TOKENS"',"messages":[{"role":"user","content":"Hello!"}]}'`;
  const exports = block.replace(/^claude\n/m, "");
  const told = ["$ANTHROPIC_MODEL", "$ANTHROPIC_DEFAULT_HAIKU_MODEL"].map(ask).join("\n");
  expect(await lab.shell(`${exports}${told}`)).toMatch(/Hello!.*Hello!/);
  expect(asked).toEqual(["/v1/messages", "/v1/messages"]);
}

function never(name: string): never {
  throw new Error(`no provider ${name} in these settings`);
}
