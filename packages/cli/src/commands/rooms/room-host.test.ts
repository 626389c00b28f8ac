import type { RoomHost } from "@roomhub/client";
import { expect, test } from "vitest";
import { answersOf, aRoom, capture, makeWorld } from "../../test-context.fixture.ts";

const hubUrl = "http://127.0.0.1:5050";

/** A host whose calls are kept. @param answer - to the question whether to delete the room; none without a terminal */
function makeHost(answer?: string) {
  const calls: unknown[] = [];
  const host: Partial<RoomHost> = {
    room: async () => aRoom({ participantCount: 2 }),
    rename: async (name) => {
      calls.push(["rename", name]);
      return aRoom({ name });
    },
    setPassword: async (password) => {
      calls.push(["password", password]);
      return aRoom({ passwordProtected: password !== null });
    },
    blocked: async () => [],
    bans: async () => [],
    liftBan: async (...args) => {
      calls.push(["unban", ...args]);
      return [];
    },
    setBlocked: async (...args) => {
      calls.push(["block", ...args]);
      return args[1] ? ["mallory", args[0]] : [];
    },
    kick: async (...args) => void calls.push(["kick", ...args]),
    delete: async () => void calls.push(["delete"]),
  };
  const world = makeWorld(
    {
      stderr: capture(answer === undefined ? undefined : 80),
      isStdinTTY: answer !== undefined,
      env: { SECRET: "swordfish" },
    },
    { asHost: () => host as RoomHost },
  );
  world.hostTokens.push({ hubUrl, room: "ABC234", id: "host", token: "rhh_1" });
  world.keys.push({ hubUrl, room: "ABC234", id: "key", token: "rhk_1" });
  return { world, calls, host };
}

test("rename says the new name", async () => {
  const { world, calls } = makeHost();
  expect(await world.run("room", "rename", "abc234", "Class 7b")).toBe(0);
  expect(calls).toEqual([["rename", "Class 7b"]]);
  expect(world.stderr.text).toBe("Room ABC234 is named Class 7b\n");
  expect(await world.run("room", "rename", "ABC234", "x", "--json")).toBe(0);
  expect(JSON.parse(world.stdout.text)).toEqual({ room: aRoom({ name: "x" }) });
});

test.each([
  [["--password-env", "SECRET"], "swordfish", "has a new join password"],
  [["--none"], null, "has no join password"],
])("password with %j", async (args, password, said) => {
  const { world, calls } = makeHost();
  expect(await world.run("room", "password", "ABC234", ...args)).toBe(0);
  expect(calls).toEqual([["password", password]]);
  expect(world.stderr.text).toBe(`Room ABC234 ${said}\n`);
});

test("password without an option asks, and without a terminal says what to pass", async () => {
  const asked = makeHost("");
  asked.world.context.prompts = answersOf(asked.world.questions, { secret: "tell no one" });
  expect(await asked.world.run("room", "password", "ABC234")).toBe(0);
  expect(asked.calls).toEqual([["password", "tell no one"]]);
  const piped = makeHost();
  expect(await piped.world.run("room", "password", "ABC234")).toBe(2);
  expect(piped.world.stderr.text).toContain("--password-env VARIABLE");
  expect(piped.calls).toEqual([]);
});

test("password does not take a password and none at once", async () => {
  const { world, calls } = makeHost();
  const args = ["--none", "--password-env", "SECRET"];
  expect(await world.run("room", "password", "ABC234", ...args)).toBe(2);
  expect(calls).toEqual([]);
});

test.each([
  ["Yes", 0, [["delete"]], 0],
  ["No", 130, [], 1],
])("delete asks, and the answer %s counts", async (answer, exit, made, tokens) => {
  const { world, calls } = makeHost(answer);
  world.context.prompts = answersOf(world.questions, { one: answer });
  expect(await world.run("room", "delete", "ABC234")).toBe(exit);
  expect(calls).toEqual(made);
  expect([world.hostTokens.length, world.keys.length]).toEqual([tokens, tokens]);
  expect(world.questions.join()).toContain("2 participants");
});

test("list has the closed rooms of this machine's host, too", async () => {
  const lab = aRoom({ closed: true, name: "lab" });
  const asked: unknown[] = [];
  const world = makeWorld(
    {},
    {
      listRooms: async () => [aRoom({ code: "XYZ789" })],
      asHost: (code, proof) => {
        asked.push([code, proof]);
        return { room: async () => lab } as unknown as RoomHost;
      },
    },
  );
  const token = "rhh_1";
  world.hostTokens.push({ hubUrl, room: "ABC234", id: "host", token });
  world.hostTokens.push({ hubUrl, room: "XYZ789", id: "host", token });
  world.hostTokens.push({ hubUrl: "http://elsewhere", room: "DEF345", id: "host", token });
  expect(await world.run("room", "list")).toBe(0);
  expect(world.stdout.text).toContain("ABC234  lab (closed)");
  expect(asked).toEqual([["ABC234", { hostToken: token }]]);
});

test("delete without a terminal needs --yes", async () => {
  const { world, calls } = makeHost();
  expect(await world.run("room", "delete", "ABC234")).toBe(2);
  expect(world.stderr.text).toContain("--yes");
  expect(calls).toEqual([]);
  expect(await world.run("room", "delete", "ABC234", "--yes")).toBe(0);
  expect(calls).toEqual([["delete"]]);
});

test("block and unblock say who is blocked then, and block alone lists it", async () => {
  const { world, calls } = makeHost();
  expect(await world.run("room", "block", "ABC234", "eve")).toBe(0);
  expect(await world.run("room", "unblock", "ABC234", "10.0.0.7")).toBe(0);
  expect(await world.run("room", "block", "ABC234")).toBe(0);
  expect(calls).toEqual([
    ["block", "eve", true],
    ["block", "10.0.0.7", false],
  ]);
  expect(world.stderr.text).toBe(
    ["mallory, eve", "no client", "no client"]
      .map((who) => `Blocked in room ABC234: ${who}\n`)
      .join(""),
  );
  expect(await world.run("room", "unblock", "ABC234")).toBe(2);
});

test("kick passes how long the participant may not join", async () => {
  const { world, calls } = makeHost();
  expect(await world.run("room", "kick", "ABC234", "ana", "--ban", "1h")).toBe(0);
  expect(await world.run("room", "kick", "ABC234", "bo")).toBe(0);
  expect(calls).toEqual([
    ["kick", "ana", 3_600_000],
    ["kick", "bo", undefined],
  ]);
  expect(world.stderr.text).toContain("ana was removed from room ABC234");
  expect(await world.run("room", "kick", "ABC234", "ana", "--ban", "soon")).toBe(2);
});

test("bans lists who may not join, for how long, and who is blocked", async () => {
  const { world, host } = makeHost();
  expect(await world.run("room", "bans", "ABC234")).toBe(0);
  expect(world.stderr.text).toBe("No one is banned or blocked\n");
  const until = world.context.world.wallMs() + 3_600_000;
  host.bans = async () => [{ id: "eve", address: "10.0.0.7", until }];
  host.blocked = async () => ["mallory"];
  expect(await world.run("room", "bans", "ABC234")).toBe(0);
  expect(world.stdout.text).toMatch(/may not join +eve +10\.0\.0\.7 +for 1 h\n/);
  expect(world.stdout.text).toMatch(/may not send requests +mallory +- +until unblocked\n/);
  world.stdout.text = "";
  expect(await world.run("room", "bans", "ABC234", "--json")).toBe(0);
  expect(JSON.parse(world.stdout.text)).toEqual({
    bans: [{ id: "eve", address: "10.0.0.7", until }],
    blocked: ["mallory"],
  });
});

test("unban lifts a ban, and says when there was none", async () => {
  const { world, host, calls } = makeHost();
  expect(await world.run("room", "unban", "ABC234", "eve")).toBe(0);
  host.bans = async () => [{ id: "eve", until: 1 }];
  expect(await world.run("room", "unban", "ABC234", "eve")).toBe(0);
  expect(calls).toEqual([
    ["unban", "eve"],
    ["unban", "eve"],
  ]);
  expect(world.stderr.text).toBe("eve was not banned from room ABC234\neve may join room ABC234\n");
});
