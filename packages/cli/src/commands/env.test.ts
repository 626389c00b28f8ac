import { HubUnreachableError, RoomhubError } from "@roomhub/client";
import { execFileSync, spawnSync } from "node:child_process";
import { parse as parseToml } from "smol-toml";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import type { Client } from "../capabilities.ts";
import { aRoute } from "../doctor/doctor.fixture.ts";
import { aParticipant, aRoom, capture, makeWorld } from "../test-context.fixture.ts";

const client: Partial<Client> = {
  getRoom: async () => aRoom(),
  explainRoute: async () => aRoute,
};

test("the lines for a shell are all there is on stdout", async () => {
  const world = makeWorld({}, client);
  expect(await world.run("env", "abc234", "--hub", "http://192.168.1.5:5050")).toBe(0);
  expect(world.stdout.text.split("\n")).toEqual([
    "export OPENAI_BASE_URL=http://192.168.1.5:5050/rooms/ABC234/v1",
    "export OPENAI_API_KEY=roomhub",
    "export ANTHROPIC_BASE_URL=http://192.168.1.5:5050/rooms/ABC234",
    "export ANTHROPIC_API_KEY=roomhub",
    "",
  ]);
  expect(world.stderr.text).toBe("");
});

test("on a terminal, where they would only be read, the line that applies them follows", async () => {
  const world = makeWorld({ stdout: capture(80) }, client);
  await world.run("env", "ABC234");
  expect(world.stderr.text).toBe('→ eval "$(roomhub env ABC234)"\n');
});

const odd = `it's "$(x)" \\ ‘a’;*`;

describe("a model's name arrives as it is", () => {
  test("in sh", async () => {
    const world = makeWorld({}, client);
    await world.run("env", "ABC234", "--model", odd);
    const script = `${world.stdout.text}printf %s "$OPENAI_MODEL|$ANTHROPIC_MODEL"`;
    expect(execFileSync("sh", ["-c", script], { encoding: "utf8" })).toBe(`${odd}|${odd}`);
  });

  test.each([
    ["fish", `set -gx OPENAI_MODEL 'it\\'s "$(x)" \\\\ ‘a’;*'`],
    ["powershell", `$env:OPENAI_MODEL = 'it''s "$(x)" \\ ‘‘a’’;*'`],
  ])("in %s", async (shell, line) => {
    const world = makeWorld({}, client);
    await world.run("env", "ABC234", "--model", odd, "--shell", shell);
    expect(world.stdout.text.split("\n")).toContain(line);
  });
});

test.each([["--json"], ["--shell=json"]])("%s prints one object", async (flag) => {
  const world = makeWorld({}, client);
  await world.run("env", "ABC234", "--model", "llama3", flag);
  expect(JSON.parse(world.stdout.text)).toEqual({
    OPENAI_BASE_URL: "http://127.0.0.1:5050/rooms/ABC234/v1",
    OPENAI_API_KEY: "roomhub",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:5050/rooms/ABC234",
    ANTHROPIC_API_KEY: "roomhub",
    OPENAI_MODEL: "llama3",
    ANTHROPIC_MODEL: "llama3",
  });
});

test("--as makes the keys a name", async () => {
  const world = makeWorld({}, client);
  await world.run("env", "ABC234", "--as", "alice", "--json");
  expect(JSON.parse(world.stdout.text)).toMatchObject({
    OPENAI_API_KEY: "as-alice",
    ANTHROPIC_API_KEY: "as-alice",
  });
});

test("--as refuses what is no name", async () => {
  const world = makeWorld({}, client);
  expect(await world.run("env", "ABC234", "--as", "alice smith")).toBe(2);
  expect(world.stdout.text).not.toContain("export");
  expect(world.stderr.text).toContain("begin with a letter or digit");
});

const noRoom = new RoomhubError("There is no room ABC234: it's gone.", {
  ...{ status: 404, code: "room_not_found", param: "", hint: "roomhub room list" },
  ...{ requestId: undefined, retryAfterMs: undefined, participants: undefined },
});
const unknown: Partial<Client> = { getRoom: () => Promise.reject(noRoom) };
const models = ["a", "b"].map((model) => aParticipant({ id: model, model }));
const several: Partial<Client> = { ...client, listParticipants: async () => models };

const severalRooms: Partial<Client> = {
  listRooms: async () => [aRoom(), aRoom({ code: "DEF567" })],
};
const room = "ABC234";

test("the hub's only room needs no name; of several, lines to paste name each", async () => {
  const world = makeWorld({}, { ...client, listRooms: async () => [aRoom()] });
  expect(await world.run("env")).toBe(0);
  expect(world.stdout.text).toContain("OPENAI_BASE_URL=http://127.0.0.1:5050/rooms/ABC234/v1\n");

  const more = makeWorld({}, severalRooms);
  expect(await more.run("env", "--for", "claude", "--model", "a b")).toBe(2);
  expect(more.stderr.text).toContain(
    "roomhub env http://127.0.0.1:5050/rooms/DEF567 --for claude --model 'a b'  #",
  );
});

describe("where there is nothing to set", () => {
  test.each([
    ["an unknown room", [room], unknown, 3, "There is no room ABC234: it's gone."],
    ["several models", [room, "--for", "claude"], several, 2, "Room ABC234 has 2 models"],
    ["several rooms", ["--for", "claude"], severalRooms, 2, "There are 2 rooms to choose from"],
    ["an unknown program", [room, "--for", "claud"], client, 2, "option '--for <program>'"],
    ["an unknown option", [room, "--fro", "claude"], client, 2, "unknown option '--fro'"],
  ])(
    "%s: a shell that evaluates the output fails, and says why",
    async (_what, args, given, code, why) => {
      const world = makeWorld({}, given);
      expect(await world.run("env", ...args)).toBe(code);
      const shell = spawnSync("sh", ["-c", 'eval "$1" && echo went on', "sh", world.stdout.text], {
        encoding: "utf8",
      });
      expect(shell).toMatchObject({ status: 1, stdout: "" });
      expect(shell.stderr).toContain(`roomhub env has set nothing: ${why}`);
    },
  );

  test.each([
    [
      "fish",
      "echo 'roomhub env has set nothing: There is no room ABC234: it\\'s gone.' >&2; false\n",
    ],
    ["powershell", "throw 'roomhub env has set nothing: There is no room ABC234: it''s gone.'\n"],
    ["json", ""],
  ])("in %s it is %j", async (shell, line) => {
    const world = makeWorld({}, unknown);
    expect(await world.run("env", "ABC234", "--shell", shell)).toBe(3);
    expect(world.stdout.text).toBe(line);
  });

  test("a file of settings, and a terminal, get nothing", async () => {
    const file = makeWorld({}, several);
    expect(await file.run("env", "ABC234", "--for", "continue")).toBe(2);
    expect(file.stdout.text).toBe("");
    const terminal = makeWorld({ stdout: capture(80) }, unknown);
    expect(await terminal.run("env", "ABC234")).toBe(3);
    expect(terminal.stdout.text).toBe("");
  });
});

test("an unreachable hub is only a warning", async () => {
  const gone = new HubUnreachableError("http://127.0.0.1:5050", new Error("refused"));
  const world = makeWorld({}, { getRoom: () => Promise.reject(gone) });
  expect(await world.run("env", "ABC234")).toBe(0);
  expect(world.stdout.text).toContain("export OPENAI_BASE_URL=");
  expect(world.stderr.text).toMatch(
    /^! Hub at http:\S+ is unreachable: refused\n→ start one: roomhub up; .*\n$/,
  );
});

test("a model without a participant is only a warning", async () => {
  const refusal = { status: 404, code: "model_not_found", message: "Nobody.", hint: "llama3?" };
  const world = makeWorld({}, { ...client, explainRoute: async () => ({ ...aRoute, refusal }) });
  expect(await world.run("env", "ABC234", "--model", "lama")).toBe(0);
  expect(world.stderr.text).toBe("! Nobody.\n→ llama3?\n");
});

describe("--for", () => {
  const hub = ["--hub", "http://192.168.1.5:5050"];
  const baseUrl = "http://192.168.1.5:5050/rooms/ABC234/v1";
  const oneModel: Partial<Client> = {
    ...client,
    listParticipants: async () => [
      aParticipant({ id: "a", model: "qwen3-coder:latest" }),
      aParticipant({ id: "b", model: "qwen3-coder" }),
      aParticipant({ id: "c", model: "gone", status: "offline" }),
    ],
  };

  test("claude sets every model, and removes a key that would be sent to the room", async () => {
    const world = makeWorld({}, oneModel);
    expect(await world.run("env", "ABC234", "--for", "claude", ...hub)).toBe(0);
    expect(world.stdout.text.split("\n")).toEqual([
      "export ANTHROPIC_BASE_URL=http://192.168.1.5:5050/rooms/ABC234",
      "export ANTHROPIC_AUTH_TOKEN=roomhub",
      "export ANTHROPIC_MODEL=qwen3-coder",
      "export ANTHROPIC_DEFAULT_OPUS_MODEL=qwen3-coder",
      "export ANTHROPIC_DEFAULT_SONNET_MODEL=qwen3-coder",
      "export ANTHROPIC_DEFAULT_HAIKU_MODEL=qwen3-coder",
      "export ANTHROPIC_SMALL_FAST_MODEL=qwen3-coder",
      "export CLAUDE_CODE_SUBAGENT_MODEL=qwen3-coder",
      "export CLAUDE_CODE_ATTRIBUTION_HEADER=0",
      "export CLAUDE_CODE_TOTAL_TOKENS_REMINDER=off",
      "unset ANTHROPIC_API_KEY",
      "unset ANTHROPIC_CUSTOM_HEADERS",
      "unset CLAUDE_CODE_USE_BEDROCK",
      "unset CLAUDE_CODE_USE_VERTEX",
      "unset CLAUDE_CODE_USE_FOUNDRY",
      "",
    ]);
  });

  test.each([
    ["fish", "set -e ANTHROPIC_API_KEY"],
    ["powershell", "$env:ANTHROPIC_API_KEY = $null"],
  ])("claude in %s removes the key as that shell does", async (shell, line) => {
    const world = makeWorld({}, oneModel);
    await world.run("env", "ABC234", "--for", "claude", "--shell", shell);
    expect(world.stdout.text.split("\n")).toContain(line);
  });

  test("codex is a command whose settings Codex reads as TOML, else as strings", async () => {
    const world = makeWorld({}, oneModel);
    await world.run("env", "ABC234", "--for", "codex", "--as", "alice", ...hub);
    const words = splitBySh(world.stdout.text);
    expect(words[0]).toBe("codex");
    const settings = words.flatMap((word, index) => (words[index - 1] === "-c" ? [word] : []));
    expect(Object.fromEntries(settings.map(readAsCodexDoes))).toEqual({
      model_provider: "room",
      "model_providers.room.name": "room",
      "model_providers.room.base_url": baseUrl,
      "model_providers.room.wire_api": "responses",
      "model_providers.room.http_headers.Authorization": "Bearer as-alice",
    });
    expect(words.slice(-2)).toEqual(["-m", "qwen3-coder"]);
  });

  test("opencode is its whole configuration in a variable", async () => {
    const world = makeWorld({}, oneModel);
    await world.run("env", "ABC234", "--for", "opencode", ...hub);
    const script = `${world.stdout.text}printf %s "$OPENCODE_CONFIG_CONTENT"`;
    const config = JSON.parse(execFileSync("sh", ["-c", script], { encoding: "utf8" })) as unknown;
    expect(config).toEqual({
      model: "room/qwen3-coder",
      small_model: "room/qwen3-coder",
      provider: {
        room: {
          npm: "@ai-sdk/openai-compatible",
          name: "room",
          options: { baseURL: baseUrl, apiKey: "roomhub" },
          // No limit: the room does not know the model's.
          models: { "qwen3-coder": { name: "qwen3-coder" } },
        },
      },
    });
  });

  test("a context that the room knows becomes the limits of each program", async () => {
    const known: Partial<Client> = {
      ...client,
      listParticipants: async () => [contextOf(32_768, "loaded"), contextOf(131_072, "trained")],
    };
    const printed = async (program: string) => {
      const world = makeWorld({}, known);
      await world.run("env", "ABC234", "--for", program);
      return world.stdout.text;
    };
    expect(await printed("claude")).toContain(
      [
        "export CLAUDE_CODE_MAX_CONTEXT_TOKENS=32768",
        "export CLAUDE_CODE_AUTO_COMPACT_WINDOW=32768",
        "export CLAUDE_CODE_MAX_OUTPUT_TOKENS=4096\n",
      ].join("\n"),
    );
    expect(await printed("codex")).toContain(
      " -c model_context_window=32768 -c model_auto_compact_token_limit=28672 ",
    );
    expect(await printed("opencode")).toContain('"limit":{"context":32768,"output":4096}');
    expect(await printed("copilot")).toContain("COPILOT_PROVIDER_MAX_PROMPT_TOKENS=28672\n");
    expect(await printed("goose")).toContain("GOOSE_CONTEXT_LIMIT=32768\n");
    expect(await printed("continue")).toContain("      contextLength: 32768\n");
    expect(JSON.parse(await printed("zed"))).toMatchObject({
      language_models: {
        openai_compatible: { room: { available_models: [{ max_tokens: 32_768 }] } },
      },
    });
  });

  test("continue is a file of settings", async () => {
    const world = makeWorld({ stdout: capture(80) }, oneModel);
    await world.run("env", "ABC234", "--for", "continue", "--as", "alice", "--model", odd);
    const model = { provider: "openai", name: odd, model: odd, apiKey: "as-alice" };
    expect(parseYaml(world.stdout.text)).toMatchObject({ schema: "v1", models: [model] });
    expect(world.stderr.text).toMatch(/ --as alice > ~\/\.continue\/config\.yaml\n$/);
  });

  test("cline is a command that stores the settings, whatever the model is called", async () => {
    const world = makeWorld({}, oneModel);
    await world.run("env", "ABC234", "--for", "cline", "--model", odd, ...hub);
    expect(splitBySh(world.stdout.text)).toEqual([
      ...["cline", "auth", "--provider", "openai-compatible"],
      ...["--apikey", "roomhub", "--baseurl", baseUrl, "--modelid", odd],
    ]);
  });

  test.each([
    [
      "copilot",
      {
        COPILOT_PROVIDER_TYPE: "openai",
        COPILOT_PROVIDER_BASE_URL: baseUrl,
        COPILOT_PROVIDER_API_KEY: "roomhub",
        COPILOT_MODEL: "qwen3-coder",
        COPILOT_PROVIDER_BEARER_TOKEN: null,
        COPILOT_PROVIDER_API_KEY_COMMAND: null,
        COPILOT_PROVIDER_MODEL_ID: null,
        COPILOT_PROVIDER_WIRE_MODEL: null,
        COPILOT_PROVIDER_HEADERS: null,
      },
    ],
    [
      "aider",
      {
        OPENAI_API_BASE: baseUrl,
        OPENAI_API_KEY: "roomhub",
        AIDER_OPENAI_API_BASE: baseUrl,
        AIDER_OPENAI_API_KEY: "roomhub",
        AIDER_MODEL: "openai/qwen3-coder",
      },
    ],
    ["openai", { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: "roomhub" }],
  ])("%s is a few variables", async (program, variables) => {
    const world = makeWorld({}, oneModel);
    await world.run("env", "ABC234", "--for", program, "--json", ...hub);
    expect(JSON.parse(world.stdout.text)).toEqual(variables);
  });

  test("openai has a model only when one is named", async () => {
    const world = makeWorld({}, client);
    await world.run("env", "ABC234", "--for", "openai", "--model", "llama3");
    expect(world.stdout.text).toContain("export OPENAI_MODEL=llama3\n");
  });

  test("in a room with several models has the lines to choose from", async () => {
    const world = makeWorld({}, several);
    expect(await world.run("env", "ABC234", "--for", "claude")).toBe(2);
    expect(world.stderr.text).toContain("roomhub env ABC234 --for claude --model b");
  });

  test.each([
    ["another that is ready", {}, "real"],
    ["another that is loading", { readiness: "loading" }, "real"],
    ["another that is down", { readiness: "down" }, undefined],
    ["no other", undefined, "demo"],
  ] as const)(
    "beside %s: the model of a stand-in counts only while no other can serve",
    async (_what, other, expected) => {
      const { connection } = aParticipant();
      const real = { id: "real", model: "real", connection: { ...connection, ...other } };
      const standIn = aParticipant({ id: "demo", model: "demo", standIn: true });
      const participants = other === undefined ? [standIn] : [standIn, aParticipant(real)];
      const world = makeWorld({}, { ...client, listParticipants: async () => participants });
      const code = await world.run("env", "ABC234", "--for", "copilot", "--json");
      if (expected === undefined) expect(code).toBe(2);
      else expect(JSON.parse(world.stdout.text)).toMatchObject({ COPILOT_MODEL: expected });
    },
  );

  test("in a room without a model takes any, with a warning", async () => {
    const world = makeWorld({}, { ...client, listParticipants: async () => [] });
    expect(await world.run("env", "ABC234", "--for", "copilot")).toBe(0);
    expect(world.stdout.text).toContain("export COPILOT_MODEL='*'\n");
    expect(world.stderr.text).toMatch(/^! Room ABC234 has no model yet/);
  });

  test("prints the line that applies it on a terminal", async () => {
    const world = makeWorld({ stdout: capture(80) }, oneModel);
    await world.run("env", "ABC234", "--for", "claude");
    expect(world.stderr.text).toBe('→ eval "$(roomhub env ABC234 --for claude)"\n');
  });
});

/** A participant of the one model. */
function contextOf(tokens: number, from: "loaded" | "trained") {
  return { ...aParticipant({ id: from, model: "qwen3-coder" }), context: { tokens, from } };
}

/** The words of a command line, as a shell reads them. */
function splitBySh(line: string): string[] {
  const script = `set -- ${line.trim()}\nprintf '%s\\0' "$@"`;
  return execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

/** Codex reads the value of `-c` as TOML, and as a string where it is none. */
function readAsCodexDoes(setting: string): [string, unknown] {
  const [key = "", ...rest] = setting.split("=");
  const text = rest.join("=");
  try {
    return [key, parseToml(`value = ${text}`)["value"]];
  } catch {
    return [key, text];
  }
}
