import { describe, expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import { aRoute } from "../doctor/doctor.fixture.ts";
import { aParticipant, answersOf, aRoom, capture, makeWorld } from "../test-context.fixture.ts";

const qwen = {
  ...aParticipant({ id: "ana", model: "qwen3" }),
  context: { tokens: 65_536, from: "loaded" as const },
};
const llama = {
  ...aParticipant({ id: "ben", nickname: "Ben", model: "llama3" }),
  context: { tokens: 8_192, from: "configured" as const },
};

const client: Partial<Client> = {
  getRoom: async () => aRoom(),
  listRooms: async () => [aRoom()],
  listParticipants: async () => [qwen],
  explainRoute: async () => aRoute,
};
const several: Partial<Client> = { ...client, listParticipants: async () => [qwen, llama] };

function worldWith(given: Partial<Client>, overrides: Parameters<typeof makeWorld>[0] = {}) {
  const world = makeWorld(overrides, given);
  for (const name of ["claude", "codex", "qwen", "crush", "pi"]) world.programs.installed.add(name);
  return world;
}

test("starts the program with the room, its only model and the model's limits", async () => {
  const world = worldWith(client, { env: { PATH: "/bin", ANTHROPIC_API_KEY: "sk-mine" } });
  expect(await world.run("launch", "claude", "ABC234")).toBe(0);
  const [started] = world.programs.started;
  expect(started?.env).toMatchObject({
    PATH: "/bin",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:5050/rooms/ABC234",
    ANTHROPIC_MODEL: "qwen3",
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: "65536",
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: "8192",
    ANTHROPIC_API_KEY: undefined,
  });
  expect(world.stderr.text).toBe("");
});

test("arguments after -- are the program's, with a room before them or without", async () => {
  for (const room of [[], ["ABC234"]]) {
    const world = worldWith(client);
    await world.run("launch", "codex", ...room, "--", "exec", "--json", "hello");
    expect(world.programs.started[0]?.args.slice(-5)).toEqual([
      "-m",
      "qwen3",
      "exec",
      "--json",
      "hello",
    ]);
  }
});

test("arguments of the program without -- are an error with the line to paste", async () => {
  const world = worldWith(client);
  expect(await world.run("launch", "codex", "ABC234", "exec", "hello there")).toBe(2);
  expect(world.stderr.text).toContain("roomhub launch codex ABC234 -- exec 'hello there'");
});

test("its exit code is that of the command", async () => {
  const world = worldWith(client);
  world.programs.exitCode = 3;
  await world.run("launch", "claude", "ABC234");
  expect(world.exits).toEqual([3]);
});

test("a program that is not installed is an error with the line that installs it", async () => {
  const world = makeWorld({}, client);
  expect(await world.run("launch", "claude", "ABC234")).toBe(1);
  expect(world.stderr.text).toContain("npm install -g @anthropic-ai/claude-code");
});

test("a room that cannot serve the program's surface is an error before anything starts", async () => {
  const refusal = {
    status: 501,
    code: "capability_missing",
    message: "No one has it",
    hint: "ask",
  };
  const asked: unknown[] = [];
  const explainRoute: Client["explainRoute"] = async (_room, question) => {
    asked.push(question.protocol);
    return { ...aRoute, refusal };
  };
  const world = worldWith({ ...client, explainRoute });
  expect(await world.run("launch", "codex", "ABC234")).toBe(1);
  expect(world.stderr.text).toContain("No one has it");
  expect(asked).toContain("openResponses");
  expect(world.programs.started).toEqual([]);
});

describe("of several models", () => {
  test("one is picked, by context and speed", async () => {
    const world = worldWith(several, { stderr: capture(80) });
    world.context.prompts = answersOf(world.questions, { one: "llama3" });
    await world.run("launch", "codex", "ABC234");
    expect(world.questions).toEqual(["Select a model for Codex | qwen3 | llama3"]);
    expect(world.programs.started[0]?.args).toContain("llama3");
  });

  test("the picked one is remembered for the folder until --pick", async () => {
    const world = worldWith(several, { stderr: capture(80) });
    world.context.prompts = answersOf(world.questions, { one: "llama3" });
    for (const more of [[], [], ["--pick"]]) await world.run("launch", "codex", "ABC234", ...more);
    expect(world.questions).toHaveLength(2);
    expect(world.programs.started.map(({ args }) => args.at(-1))).toEqual(Array(3).fill("llama3"));
    expect(world.stderr.text).toContain(
      "llama3, as last time in this folder; --pick selects again",
    );
  });

  test("without a terminal the error names each, with its context", async () => {
    const world = worldWith(several, { isStdinTTY: false });
    expect(await world.run("launch", "claude", "ABC234")).toBe(2);
    expect(world.stderr.text).toContain("--model llama3  # Ben, 8k context");
    expect(world.programs.started).toEqual([]);
  });

  test("--model names one", async () => {
    const world = worldWith(several, { isStdinTTY: false });
    await world.run("launch", "claude", "ABC234", "--model", "llama3");
    expect(world.programs.started[0]?.env).toMatchObject({
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: "8192",
    });
    expect(world.stderr.text).toMatch(
      /^! llama3 has a context of 8,192 tokens; Claude Code needs about/,
    );
  });
});

test("a context that the room does not know sets no limit, and says so", async () => {
  const world = worldWith({ ...client, listParticipants: async () => [aParticipant()] });
  await world.run("launch", "claude", "ABC234");
  expect(world.programs.started[0]?.env).not.toHaveProperty("CLAUDE_CODE_MAX_CONTEXT_TOKENS");
  expect(world.stderr.text).toContain("does not know the context of llama3");
});

describe("settings that come before variables", () => {
  test("Claude Code gets an overlay, into which one of the user's is taken in", async () => {
    const world = worldWith(client);
    const own = JSON.stringify({ env: { FOO: "1", ANTHROPIC_MODEL: "opus" }, theme: "dark" });
    await world.run("launch", "claude", "ABC234", "--", "--settings", own, "-p", "hello");
    const [first, overlay = "", ...rest] = world.programs.started[0]?.args ?? [];
    expect([first, ...rest]).toEqual(["--settings", "-p", "hello"]);
    expect(JSON.parse(overlay)).toMatchObject({
      theme: "dark",
      apiKeyHelper: "",
      env: { FOO: "1", ANTHROPIC_MODEL: "qwen3", ANTHROPIC_API_KEY: "" },
    });
  });

  test.each([
    ["qwen", "/etc/qwen-code/settings.json", "settings.json", "QWEN_CODE_SYSTEM_SETTINGS_PATH"],
    ["crush", "/data/crush/crush.json", "crush.json", "CRUSH_GLOBAL_DATA"],
  ])(
    "%s gets a copy of its file with the room in it, removed afterwards",
    async (program, path, name, variable) => {
      const world = worldWith(client, { platform: "linux", env: { XDG_DATA_HOME: "/data" } });
      const text = JSON.stringify({ own: true, providers: { other: {} }, model: { name: "gpt" } });
      world.files.set(path, text);
      await world.run("launch", program, "ABC234");
      const [started] = world.programs.started;
      expect(started?.env[variable]).toContain("/tmp/launch");
      expect(JSON.parse(started?.files[name] ?? "")).toMatchObject({
        own: true,
        providers: { other: {} },
      });
      expect(started?.files[name]).toContain("http://127.0.0.1:5050/rooms/ABC234/v1");
      expect(world.files.get(path)).toBe(text);
      expect(world.programs.left).toBe(0);
    },
  );

  test("a file that cannot be copied is an error that names it", async () => {
    const world = worldWith(client, { platform: "linux" });
    world.files.set("/etc/qwen-code/settings.json", "// mine\n{");
    expect(await world.run("launch", "qwen", "ABC234")).toBe(1);
    expect(world.stderr.text).toContain("/etc/qwen-code/settings.json");
    expect(world.programs.left).toBe(0);
  });
});

describe("--print", () => {
  test("shows all that it sets, and starts nothing", async () => {
    const world = makeWorld({}, client);
    expect(await world.run("launch", "qwen", "ABC234", "--print", "--", "-p", "hi")).toBe(0);
    const lines = world.stdout.text.split("\n");
    expect(lines[0]).toBe("export QWEN_CODE_SYSTEM_SETTINGS_PATH=/tmp/launch/settings.json");
    expect(lines).toContain("# settings.json:");
    expect(lines.at(-2)).toBe("qwen -p hi");
    expect(world.programs).toMatchObject({ started: [], left: 0 });
  });

  test.each([
    ["cline", "cline auth --provider openai-compatible"],
    ["continue", "      contextLength: 65536"],
    ["zed", '"max_tokens": 65536'],
    ["openwebui", "export OPENAI_API_BASE_URL=http://127.0.0.1:5050/rooms/ABC234/v1"],
  ])("is all that launch does for %s, with what to do", async (program, text) => {
    const world = makeWorld({}, client);
    expect(await world.run("launch", program, "ABC234")).toBe(0);
    expect(world.stdout.text).toContain(text);
    expect(world.stderr.text).toMatch(/^→ \w+ /);
    expect(world.programs.started).toEqual([]);
  });

  test("with --json is an object", async () => {
    const world = makeWorld({}, client);
    await world.run("launch", "goose", "ABC234", "--json");
    expect(JSON.parse(world.stdout.text)).toMatchObject({
      command: ["goose"],
      variables: { OPENAI_HOST: "http://127.0.0.1:5050", GOOSE_CONTEXT_LIMIT: "65536" },
      files: {},
    });
  });
});
