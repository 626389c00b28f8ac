import { HubUnreachableError, RoomhubError } from "@roomhub/client";
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { Client } from "../context.ts";
import { aRoute } from "../doctor/doctor.fixture.ts";
import { aRoom, capture, makeWorld } from "../test-context.fixture.ts";

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
  expect(world.stdout.text).toBe("");
  expect(world.stderr.text).toContain("begin with a letter or digit");
});

test("an unknown room prints nothing that could be evaluated", async () => {
  const details = { status: 404, code: "room_not_found", param: "", hint: "roomhub room list" };
  const nothing = { requestId: undefined, retryAfterMs: undefined, participants: undefined };
  const gone = new RoomhubError("There is no room.", { ...details, ...nothing });
  const world = makeWorld({}, { getRoom: () => Promise.reject(gone) });
  expect(await world.run("env", "ABC234")).toBe(3);
  expect(world.stdout.text).toBe("");
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
