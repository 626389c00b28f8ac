import type { InferenceProtocol } from "@roomhub/protocol";
import { limits, type RoomAccess } from "./program-table.ts";
import { assignments, commandLine, removals, type Shell } from "./shell-syntax.ts";

/** What points a program at a room, for a shell or for the user to put in place. */
export type ShellSettings =
  /** null removes one that would get in the way */
  | { kind: "variables"; variables: Record<string, string | null> }
  /** a command that starts the program, or stores its settings */
  | { kind: "command"; words: readonly string[]; variables?: Record<string, string | null> }
  /** a file of settings */
  | { kind: "file"; path: string; text: string };

interface OtherProgram {
  title: string;
  surface: InferenceProtocol;
  /** what to do with the settings */
  how: string;
  settings: (room: RoomAccess) => ShellSettings;
}

/** Programs whose settings the user has to put in place. */
export const otherPrograms = {
  cline: {
    title: "Cline",
    surface: "chatCompletions",
    how: "run this once, then cline; in its extension for editors choose OpenAI Compatible, with the same three values; in a closed room put your key in place of KEY",
    settings: ({ baseUrl, key, isSecret, model }) => ({
      kind: "command",
      words: [
        ...["cline", "auth", "--provider", "openai-compatible"],
        ...["--apikey", isSecret ? "KEY" : key, "--baseurl", baseUrl, "--modelid", model],
      ],
    }),
  },
  continue: {
    title: "Continue",
    surface: "chatCompletions",
    how: "put this into ~/.continue/config.yaml, or its entry under models into the file that you have",
    settings: (room) => ({
      kind: "file",
      path: "~/.continue/config.yaml",
      text: continueSettings(room),
    }),
  },
  zed: {
    title: "Zed",
    surface: "chatCompletions",
    how: "add this to Zed's settings.json (zed: open settings), and start Zed with ROOM_API_KEY set: to any text, in a closed room to your key",
    settings: ({ baseUrl, model, context }) => {
      const about = limits(context, (total, output) => ({
        max_tokens: total,
        max_output_tokens: output,
      }));
      const can = {
        tools: true,
        images: false,
        parallel_tool_calls: false,
        prompt_cache_key: false,
      };
      const entry = { name: model, display_name: model, ...about, capabilities: can };
      const settings = {
        language_models: {
          openai_compatible: { room: { api_url: baseUrl, available_models: [entry] } },
        },
        agent: { default_model: { provider: "room", model } },
      };
      return {
        kind: "file",
        path: "~/.config/zed/settings.json",
        text: `${JSON.stringify(settings, undefined, 2)}\n`,
      };
    },
  },
  openwebui: {
    title: "Open WebUI",
    surface: "chatCompletions",
    how: "start open-webui serve with these variables; in a running one add the URL and the key under Admin Panel → Settings → Connections",
    settings: ({ baseUrl, key }) => ({
      kind: "variables",
      variables: {
        ENABLE_OLLAMA_API: "False",
        OPENAI_API_BASE_URL: baseUrl,
        OPENAI_API_KEY: key,
      },
    }),
  },
} as const satisfies Record<string, OtherProgram>;

export type OtherProgramName = keyof typeof otherPrograms;
export const otherProgramNames = Object.keys(otherPrograms) as OtherProgramName[];

export function isOther(program: string): program is OtherProgramName {
  return program in otherPrograms;
}

/** For programs that read it. */
export function settingsJson(settings: ShellSettings): object {
  switch (settings.kind) {
    case "variables":
      return settings.variables;
    case "command":
      return { command: settings.words, variables: settings.variables };
    case "file":
      return { path: settings.path, text: settings.text };
  }
}

export function settingsText(settings: ShellSettings, shell: Shell): string {
  switch (settings.kind) {
    case "variables":
      return variableLines(settings.variables, shell);
    case "command":
      return `${variableLines(settings.variables ?? {}, shell)}${commandLine(shell, settings.words)}\n`;
    case "file":
      return settings.text;
  }
}

export function variableLines(variables: Record<string, string | null>, shell: Shell): string {
  return Object.entries(variables)
    .map(([name, value]) =>
      value === null ? removals[shell](name) : assignments[shell](name, value),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** YAML, in which a text may be written as in JSON. */
function continueSettings({ baseUrl, key, model, context }: RoomAccess): string {
  const text = (value: string) => JSON.stringify(value);
  const options = limits(context, (total, output) => ({ contextLength: total, maxTokens: output }));
  const lines = Object.entries(options).map(([name, tokens]) => `      ${name}: ${tokens}`);
  return [
    "name: room",
    "version: 1.0.0",
    "schema: v1",
    "models:",
    `  - name: ${text(model)}`,
    "    provider: openai",
    `    model: ${text(model)}`,
    `    apiBase: ${text(baseUrl)}`,
    `    apiKey: ${text(key)}`,
    ...(lines.length === 0 ? [] : ["    defaultCompletionOptions:", ...lines]),
    "    roles: [chat, edit, apply]",
    "",
  ].join("\n");
}
