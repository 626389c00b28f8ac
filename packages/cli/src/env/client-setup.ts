/** What points a program at a room. */
export type ClientSetup =
  /** variables; null removes one that would get in the way */
  | { kind: "variables"; variables: Record<string, string | null> }
  /** a command that starts the program, or stores its settings */
  | { kind: "command"; words: readonly string[] }
  /** a file of settings */
  | { kind: "file"; path: string; text: string };

/** The room as a program needs to know it. */
export interface RoomAccess {
  /** `{hub}/rooms/CODE/v1` */
  baseUrl: string;
  key: string;
  /** whether `key` is a name, and not what the documentation uses for everyone */
  isNamed: boolean;
  /** undefined when none was chosen: any of the room's, for programs that need one */
  model: string | undefined;
}

export const clientNames = [
  "claude",
  "codex",
  "opencode",
  "copilot",
  "cline",
  "continue",
  "aider",
  "openai",
] as const;
export type ClientName = (typeof clientNames)[number];

/** Each by its own documentation; docs/guides/clients.md describes them. */
const setups: Record<ClientName, (room: RoomAccess) => ClientSetup> = {
  claude: ({ baseUrl, key, model = "*" }) =>
    variables({
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
      // It would be sent to the room.
      ANTHROPIC_API_KEY: null,
    }),
  codex: ({ baseUrl, key, isNamed, model = "*" }) => ({
    kind: "command",
    // A value that is no TOML is taken as a string, so that none needs quotes.
    words: [
      "codex",
      ...["-c", "model_provider=room"],
      ...["-c", "model_providers.room.name=room"],
      ...["-c", `model_providers.room.base_url=${baseUrl}`],
      ...["-c", "model_providers.room.wire_api=responses"],
      ...(isNamed ? ["-c", `model_providers.room.http_headers.Authorization=Bearer ${key}`] : []),
      ...["-m", model],
    ],
  }),
  opencode: ({ baseUrl, key, model = "*" }) =>
    variables({
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        provider: {
          room: {
            npm: "@ai-sdk/openai-compatible",
            name: "room",
            options: { baseURL: baseUrl, apiKey: key },
            models: { [model]: { name: model } },
          },
        },
        model: `room/${model}`,
      }),
    }),
  copilot: ({ baseUrl, key, model = "*" }) =>
    variables({
      COPILOT_PROVIDER_TYPE: "openai",
      COPILOT_PROVIDER_BASE_URL: baseUrl,
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: model,
    }),
  cline: ({ baseUrl, key, model = "*" }) => ({
    kind: "command",
    words: [
      ...["cline", "auth", "--provider", "openai-compatible"],
      ...["--apikey", key, "--baseurl", baseUrl, "--modelid", model],
    ],
  }),
  continue: ({ baseUrl, key, model = "*" }) => ({
    kind: "file",
    path: "~/.continue/config.yaml",
    text: continueSettings(baseUrl, key, model),
  }),
  aider: ({ baseUrl, key, model = "*" }) =>
    variables({
      OPENAI_API_BASE: baseUrl,
      OPENAI_API_KEY: key,
      // The prefix chooses the protocol, and is not sent.
      AIDER_MODEL: `openai/${model}`,
    }),
  openai: ({ baseUrl, key, model }) =>
    variables({
      OPENAI_BASE_URL: baseUrl,
      OPENAI_API_KEY: key,
      ...(model === undefined ? {} : { OPENAI_MODEL: model }),
    }),
};

export function clientSetup(client: ClientName, room: RoomAccess): ClientSetup {
  return setups[client](room);
}

function variables(all: Record<string, string | null>): ClientSetup {
  return { kind: "variables", variables: all };
}

/** YAML, in which a text may be written as in JSON. */
function continueSettings(baseUrl: string, key: string, model: string): string {
  const text = (value: string) => JSON.stringify(value);
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
    "    roles: [chat, edit, apply]",
    "",
  ].join("\n");
}
