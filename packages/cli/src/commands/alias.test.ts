import { describe, expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import { aRoute } from "../doctor/doctor.fixture.ts";
import { makeWorld } from "../test-context.fixture.ts";

const aliases = [
  { pattern: "claude-*", targets: ["qwen3-coder", "*"], createdAt: 1 },
  { pattern: "gpt-5", targets: ["model:llama3"], createdAt: 2 },
];

/** A hub that notes what it is sent. */
function noting(fields: Partial<Client> = {}) {
  const calls: unknown[] = [];
  const client: Partial<Client> = {
    listAliases: async () => aliases,
    setAlias: async (code, pattern, targets, options) => {
      calls.push(["set", code, pattern, targets, options?.hostToken]);
      return { pattern, targets: [...targets], createdAt: 1 };
    },
    removeAlias: async (code, pattern, options) => {
      calls.push(["remove", code, pattern, options?.hostToken]);
    },
    explainRoute: async () => aRoute,
    ...fields,
  };
  return { calls, client };
}

describe("alias", () => {
  test("lists the aliases of a room", async () => {
    const world = makeWorld({}, noting().client);
    expect(await world.run("alias", "ABC234")).toBe(0);
    expect(world.stdout.text.split("\n").map((line) => line.trimEnd())).toEqual([
      "NAME      TARGETS",
      "claude-*  qwen3-coder, *",
      "gpt-5     model:llama3",
      "",
    ]);
  });

  test("of a room without aliases prints how to add one", async () => {
    const world = makeWorld({}, noting({ listAliases: async () => [] }).client);
    const url = "http://192.168.1.5:5050/rooms/ABC234";
    expect(await world.run("alias", url)).toBe(0);
    expect(world.stdout.text).toBe("");
    expect(world.stderr.text).toBe(
      `Room ABC234 has no aliases.\n→ roomhub alias ${url} 'claude-*' '*'\n`,
    );
  });

  test.each([
    [["qwen3-coder,*"], ["qwen3-coder", "*"]],
    [
      ["qwen3-coder", "*"],
      ["qwen3-coder", "*"],
    ],
    [
      ["a, b", "c"],
      ["a", "b", "c"],
    ],
  ])("takes targets as %j", async (given, targets) => {
    const { calls, client } = noting();
    const world = makeWorld({}, client);
    expect(await world.run("alias", "abc234", "claude-*", ...given)).toBe(0);
    expect(calls).toEqual([["set", "ABC234", "claude-*", targets, undefined]]);
    expect(world.stderr.text).toBe(`claude-* stands for ${targets.join(", ")} in room ABC234\n`);
  });

  test("that leads nowhere now is set, with a warning", async () => {
    const refusal = { status: 404, code: "model_not_found", message: "Nothing.", hint: "names" };
    const { calls, client } = noting({ explainRoute: async () => ({ ...aRoute, refusal }) });
    const world = makeWorld({}, client);
    expect(await world.run("alias", "ABC234", "a", "b")).toBe(0);
    expect(calls).toHaveLength(1);
    expect(world.stderr.text).toMatch(/^! Nothing\.\n→ names\na stands for b/);
  });

  test("is removed with --delete", async () => {
    const { calls, client } = noting();
    const world = makeWorld({}, client);
    expect(await world.run("alias", "ABC234", "claude-*", "--delete")).toBe(0);
    expect(calls).toEqual([["remove", "ABC234", "claude-*", undefined]]);
    expect(world.stderr.text).toBe("claude-* is no longer an alias in room ABC234\n");
  });

  test("prints JSON for programs", async () => {
    const world = makeWorld({}, noting().client);
    await world.run("alias", "ABC234", "a", "b", "--json");
    expect(JSON.parse(world.stdout.text)).toEqual({
      alias: { pattern: "a", targets: ["b"], createdAt: 1 },
    });
  });

  test.each([
    [["ABC234", "--delete"], "Name the alias to delete"],
    [["ABC234", "a"], "Name at least one target, or pass --delete"],
    [["ABC234", "a", "b", "--delete"], "--delete takes no targets"],
  ])("%j is a usage error, and nothing is sent", async (args, message) => {
    const { calls, client } = noting();
    const world = makeWorld({}, client);
    expect(await world.run("alias", ...args)).toBe(2);
    expect(world.stderr.text).toContain(message);
    expect(calls).toEqual([]);
  });
});

describe("the host token", () => {
  const saved = (hubUrl: string, room: string, token: string) => ({
    ...{ hubUrl, room, token },
    id: "host",
  });

  test("saved for this room at this hub is sent, and no other", async () => {
    const { calls, client } = noting();
    const world = makeWorld({}, client);
    world.hostTokens.push(
      saved("http://10.0.0.9:5050", "ABC234", "rhh_other_hub"),
      saved("http://127.0.0.1:5050", "XYZ789", "rhh_other_room"),
      saved("http://127.0.0.1:5050", "ABC234", "rhh_own"),
    );
    await world.run("alias", "ABC234", "a", "b");
    await world.run("alias", "http://192.168.1.5:5050/rooms/ABC234", "a", "b");
    expect(calls).toMatchObject([
      ["set", "ABC234", "a", ["b"], "rhh_own"],
      ["set", "ABC234", "a", ["b"], undefined],
    ]);
  });

  test("comes from a variable with --token-env", async () => {
    const { calls, client } = noting();
    const world = makeWorld({ env: { LAB_HOST: "rhh_env" } }, client);
    await world.run("alias", "ABC234", "a", "--delete", "--token-env", "LAB_HOST");
    expect(calls).toEqual([["remove", "ABC234", "a", "rhh_env"]]);
  });
});
