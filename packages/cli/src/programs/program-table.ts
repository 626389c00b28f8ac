import { homedir } from "node:os";
import { join } from "node:path";
import { type InferenceProtocol, isObject, NAME_KEY_PREFIX, parseObject } from "@roomhub/protocol";
import { CommandError } from "../exit-code.ts";

/** What points a program at a room. */
interface ProgramSettings {
  /** null removes one that would get in the way */
  variables: Record<string, string | null>;
  /** its whole command line, including the user's arguments */
  args: readonly string[];
  /** their texts by names in the folder of the launch */
  files: Record<string, string>;
}

/** The room as a program needs to know it. */
export interface RoomAccess {
  /** `{hub}/rooms/CODE/v1` */
  baseUrl: string;
  key: string;
  /** whether `key` is a name, and not what the documentation uses for everyone */
  isNamed: boolean;
  /** whether `key` lets its holder into a closed room: no argument of a program may have it, since others can read those */
  isSecret: boolean;
  model: string;
  /** tokens that prompt and response take together; undefined when the room does not know */
  context: number | undefined;
}

/**
 * What a program sends as its API key.
 *
 * @param key - of a closed room, which says who sends the requests
 * @param as - a name for the requests in an open one
 */
export function accessKey(
  key: string | undefined,
  as: string | undefined,
): Pick<RoomAccess, "key" | "isNamed" | "isSecret"> {
  if (key !== undefined) return { key, isNamed: false, isSecret: true };
  const isNamed = as !== undefined;
  // Clients require a key, and one of the user's own must not be sent to a room.
  return { key: isNamed ? `${NAME_KEY_PREFIX}${as}` : "roomhub", isNamed, isSecret: false };
}

/** One start of a program. */
interface Launch {
  /** of this launch alone, removed after it */
  folder: string;
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  /** arguments of the user */
  userArgs: readonly string[];
  /** The text of a file; undefined when there is none. */
  read: (path: string) => string | undefined;
}

/** A program that is started from a shell. */
export interface Program {
  title: string;
  /** a line to paste */
  install: string;
  /** which of the room's surfaces it uses */
  surface: InferenceProtocol;
  /** with less it compacts its own prompt over and over */
  leastContext?: number;
  /** whether only files can point it at a room */
  needsFiles?: true;
  /**
   * @param launch - undefined for what a shell can set
   * @throws CommandError for settings that cannot be copied
   */
  settings: (room: RoomAccess, launch: Launch | undefined) => Partial<ProgramSettings>;
}

/** Each by its own documentation; docs/reference/clients.md describes them. */
export const programs = {
  claude: {
    title: "Claude Code",
    install: "npm install -g @anthropic-ai/claude-code",
    surface: "messages",
    // Its prompt and tools take about 21,000, and it compacts 13,000 and a response before the end.
    leastContext: 48_000,
    settings: ({ baseUrl, key, isSecret, model, context }, launch) => {
      const variables = {
        // Claude Code appends /v1 itself.
        ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ""),
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_OPUS_MODEL: model,
        ANTHROPIC_DEFAULT_SONNET_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
        ANTHROPIC_SMALL_FAST_MODEL: model,
        CLAUDE_CODE_SUBAGENT_MODEL: model,
        // What differs in each request makes its prompt new to the model server: a line at its head, a reminder of the tokens used.
        CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
        CLAUDE_CODE_TOTAL_TOKENS_REMINDER: "off",
        ...limits(context, (total, output) => ({
          CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(total),
          // Without it, it compacts only after an error, once the prompt is too long.
          CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(total),
          CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(output),
        })),
        // They would be sent to the room, or send its requests elsewhere.
        ANTHROPIC_API_KEY: null,
        ANTHROPIC_CUSTOM_HEADERS: null,
        CLAUDE_CODE_USE_BEDROCK: null,
        CLAUDE_CODE_USE_VERTEX: null,
        CLAUDE_CODE_USE_FOUNDRY: null,
      };
      return launch === undefined
        ? { variables }
        : { variables, ...claudeSettings(variables, isSecret, launch) };
    },
  },
  codex: {
    title: "Codex",
    install: "npm install -g @openai/codex",
    surface: "openResponses",
    settings: ({ baseUrl, key, isNamed, isSecret, model, context }, launch) => ({
      ...(isSecret && { variables: { ROOM_API_KEY: key } }),
      // A value that is not valid TOML counts as a string, so values need no quotes.
      args: [
        ...["-c", "model_provider=room"],
        ...["-c", "model_providers.room.name=room"],
        ...["-c", `model_providers.room.base_url=${baseUrl}`],
        ...["-c", "model_providers.room.wire_api=responses"],
        ...(isSecret ? ["-c", "model_providers.room.env_key=ROOM_API_KEY"] : []),
        ...(isNamed ? ["-c", `model_providers.room.http_headers.Authorization=Bearer ${key}`] : []),
        ...Object.entries(
          limits(context, (total, output) => ({
            model_context_window: total,
            model_auto_compact_token_limit: total - output,
          })),
        ).flatMap(([name, tokens]) => ["-c", `${name}=${tokens}`]),
        ...["-m", model],
        ...userArgs(launch),
      ],
    }),
  },
  opencode: {
    title: "opencode",
    install: "npm install -g opencode-ai",
    surface: "chatCompletions",
    settings: ({ baseUrl, key, model, context }) => {
      // Without a limit it never compacts.
      const limit = limits(context, (total, output) => ({ limit: { context: total, output } }));
      const config = {
        provider: {
          room: {
            npm: "@ai-sdk/openai-compatible",
            name: "room",
            options: { baseURL: baseUrl, apiKey: key },
            models: { [model]: { name: model, ...limit } },
          },
        },
        model: `room/${model}`,
        small_model: `room/${model}`,
      };
      return { variables: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config) } };
    },
  },
  copilot: {
    title: "Copilot CLI",
    install: "npm install -g @github/copilot",
    surface: "chatCompletions",
    settings: ({ baseUrl, key, model, context }) => ({
      variables: {
        COPILOT_PROVIDER_TYPE: "openai",
        COPILOT_PROVIDER_BASE_URL: baseUrl,
        COPILOT_PROVIDER_API_KEY: key,
        COPILOT_MODEL: model,
        ...limits(context, (total, output) => ({
          COPILOT_PROVIDER_MAX_PROMPT_TOKENS: String(total - output),
          COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: String(output),
        })),
        // They come before what is set here.
        COPILOT_PROVIDER_BEARER_TOKEN: null,
        COPILOT_PROVIDER_API_KEY_COMMAND: null,
        COPILOT_PROVIDER_MODEL_ID: null,
        COPILOT_PROVIDER_WIRE_MODEL: null,
        COPILOT_PROVIDER_HEADERS: null,
      },
    }),
  },
  qwen: {
    title: "Qwen Code",
    install: "npm install -g @qwen-code/qwen-code",
    surface: "chatCompletions",
    needsFiles: true,
    settings: ({ baseUrl, key, model, context }, launch) => {
      if (launch === undefined) return {};
      const variable = "QWEN_CODE_SYSTEM_SETTINGS_PATH";
      const own = launch.env[variable] ?? qwenSystemSettings[launch.platform] ?? "";
      const generationConfig = limits(context, (total, output) => ({
        contextWindowSize: total,
        samplingParams: { max_tokens: output },
      }));
      const entry = { id: model, name: model, baseUrl, envKey: "ROOM_API_KEY", generationConfig };
      const settings = {
        modelProviders: { openai: [entry] },
        security: { auth: { selectedType: "openai" } },
        model: { name: model },
      };
      return {
        variables: { [variable]: join(launch.folder, "settings.json"), ROOM_API_KEY: key },
        files: { "settings.json": jsonText(merged(readJson(launch, own), settings)) },
      };
    },
  },
  aider: {
    title: "Aider",
    install: "python -m pip install aider-install && aider-install",
    surface: "chatCompletions",
    settings: ({ baseUrl, key, model, context }, launch) => {
      // The prefix chooses the protocol, and is not sent.
      const name = `openai/${model}`;
      const variables = {
        OPENAI_API_BASE: baseUrl,
        OPENAI_API_KEY: key,
        // These variables have precedence over the program's settings.
        AIDER_OPENAI_API_BASE: baseUrl,
        AIDER_OPENAI_API_KEY: key,
        AIDER_MODEL: name,
      };
      if (launch === undefined || context === undefined) return { variables };
      const about = limits(context, (total, output) => ({
        max_input_tokens: total - output,
        max_output_tokens: output,
        max_tokens: output,
      }));
      return {
        variables,
        args: ["--model-metadata-file", join(launch.folder, "models.json"), ...launch.userArgs],
        files: {
          "models.json": jsonText({
            [name]: { ...about, litellm_provider: "openai", mode: "chat" },
          }),
        },
      };
    },
  },
  crush: {
    title: "Crush",
    install: "npm install -g @charmland/crush",
    surface: "chatCompletions",
    needsFiles: true,
    settings: ({ baseUrl, key, model, context }, launch) => {
      if (launch === undefined) return {};
      // The file in which it keeps the model that was chosen last, which comes before the user's settings.
      const own = join(crushDataFolder(launch), "crush.json");
      const about = limits(context, (total, output) => ({
        context_window: total,
        default_max_tokens: output,
      }));
      const chosen = { provider: "room", model };
      const settings = {
        providers: {
          room: {
            name: "room",
            type: "openai-compat",
            base_url: baseUrl,
            api_key: key,
            models: [{ id: model, name: model, ...about }],
          },
        },
        models: { large: chosen, small: chosen },
      };
      return {
        variables: { CRUSH_GLOBAL_DATA: launch.folder },
        files: { "crush.json": jsonText(merged(readJson(launch, own), settings)) },
      };
    },
  },
  goose: {
    title: "goose",
    install: "see https://goose-docs.ai/docs/getting-started/installation",
    surface: "chatCompletions",
    settings: ({ baseUrl, key, model, context }) => {
      const { origin, pathname } = new URL(baseUrl);
      return {
        variables: {
          GOOSE_PROVIDER: "openai",
          GOOSE_MODEL: model,
          OPENAI_HOST: origin,
          OPENAI_BASE_PATH: `${pathname.slice(1)}/chat/completions`,
          OPENAI_API_KEY: key,
          ...limits(context, (total, output) => ({
            GOOSE_CONTEXT_LIMIT: String(total),
            GOOSE_MAX_TOKENS: String(output),
          })),
          OPENAI_CUSTOM_HEADERS: null,
        },
      };
    },
  },
  pi: {
    title: "pi",
    install: "npm install -g @mariozechner/pi-coding-agent",
    surface: "chatCompletions",
    needsFiles: true,
    settings: ({ baseUrl, key, model, context }, launch) => {
      if (launch === undefined) return {};
      const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
      const about = limits(context, (total, output) => ({
        contextWindow: total,
        maxTokens: output,
      }));
      const entry = { id: model, name: model, reasoning: false, input: ["text"], cost: free };
      const provider = {
        name: "room",
        baseUrl,
        apiKey: key,
        api: "openai-completions",
        models: [{ ...entry, ...about }],
      };
      const extension = `export default (pi) => pi.registerProvider("room", ${JSON.stringify(provider)});\n`;
      return {
        args: [
          ...["-e", join(launch.folder, "room.ts")],
          ...["--provider", "room", "--model", model, ...launch.userArgs],
        ],
        files: { "room.ts": extension },
      };
    },
  },
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof programs;
export const programNames = Object.keys(programs) as ProgramName[];

/** Tokens of one response; agents seldom write more at once. */
const mostOutput = 16_384;

/** The limits in a program's words; an eighth of a small context is for the response. Nothing where the room knows none. */
export function limits<T extends object>(
  context: number | undefined,
  inWords: (total: number, output: number) => T,
): Partial<T> {
  if (context === undefined) return {};
  return inWords(context, Math.min(mostOutput, Math.floor(context / 8)));
}

/**
 * Its settings files come before the environment, and `--settings` before them. Of two only the last counts, so that one of
 * the user's is taken in.
 */
function claudeSettings(
  variables: Record<string, string | null>,
  isSecret: boolean,
  launch: Launch,
): Partial<ProgramSettings> {
  const env = Object.entries(variables).map(([name, value]) => [name, value ?? ""]);
  // A helper's key would be sent to the room.
  const overlay = { env: Object.fromEntries(env) as object, apiKeyHelper: "" };
  const at = launch.userArgs.indexOf("--settings");
  const given = at === -1 ? undefined : launch.userArgs[at + 1];
  const own = given === undefined ? {} : (parseObject(given) ?? readJson(launch, given));
  const text = JSON.stringify(merged(own, overlay));
  const file = "settings.json";
  const settings = isSecret ? join(launch.folder, file) : text;
  return {
    args:
      given === undefined
        ? ["--settings", settings, ...launch.userArgs]
        : launch.userArgs.with(at + 1, settings),
    files: isSecret ? { [file]: text } : {},
  };
}

const qwenSystemSettings: Partial<Record<NodeJS.Platform, string>> = {
  linux: "/etc/qwen-code/settings.json",
  darwin: "/Library/Application Support/QwenCode/settings.json",
  win32: String.raw`C:\ProgramData\qwen-code\settings.json`,
};

function crushDataFolder({ env, platform }: Launch): string {
  if (env["CRUSH_GLOBAL_DATA"] !== undefined) return env["CRUSH_GLOBAL_DATA"];
  if (env["XDG_DATA_HOME"] !== undefined) return join(env["XDG_DATA_HOME"], "crush");
  const home = homedir();
  return platform === "win32"
    ? join(env["LOCALAPPDATA"] ?? join(home, "AppData", "Local"), "crush")
    : join(home, ".local", "share", "crush");
}

/** @throws CommandError when the file is there and is no JSON object */
function readJson(launch: Launch, path: string): object {
  const text = launch.read(path);
  const settings = text === undefined ? {} : parseObject(text);
  if (settings !== undefined) return settings;
  throw new CommandError(
    `The settings in ${path} are not a JSON object`,
    "correct them: the program is started with a copy of them",
  );
}

/** The second over the first, object by object. */
function merged(under: object, over: object): object {
  const result: Record<string, unknown> = { ...under };
  for (const [name, value] of Object.entries(over) as [string, unknown][]) {
    const old = result[name];
    result[name] = isObject(value) && isObject(old) ? merged(old, value) : value;
  }
  return result;
}

function userArgs(launch: Launch | undefined): readonly string[] {
  return launch?.userArgs ?? [];
}

function jsonText(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
