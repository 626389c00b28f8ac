import { type RoomHost, RoomhubError } from "@roomhub/client";
import type { CreateKeyRequest, NewKey } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { aRoom, capture, makeWorld, type TestWorld } from "../../test-context.fixture.ts";

const value = `rhk_${"k".repeat(43)}`;
const hubUrl = "http://127.0.0.1:5050";
const aKey: NewKey = { id: "1", name: "ada", may: ["use", "watch"], createdAt: 0, value };

/** A host whose calls are kept. */
function makeHost(over: Partial<RoomHost> = {}, isClosed = true, taken: string[] = []) {
  const calls: unknown[] = [];
  const proofs: unknown[] = [];
  const host: Partial<RoomHost> = {
    room: async () => aRoom(isClosed ? { closed: true } : {}),
    createKey: async (wanted: CreateKeyRequest) => {
      calls.push(wanted);
      if (taken.includes(wanted.name)) throw refusal("key_name_taken");
      return { ...aKey, name: wanted.name };
    },
    rotateKey: async (...args) => {
      calls.push(args);
      return aKey;
    },
    revokeKey: async (name) => ({ ...aKey, name }),
    setClosed: async (closed) => {
      calls.push(closed);
      return { room: aRoom(closed ? { closed: true } : {}) };
    },
    ...over,
  };
  const world = makeWorld(
    { stderr: capture() },
    {
      asHost: (code, proof) => {
        proofs.push([code, proof]);
        return host as RoomHost;
      },
    },
  );
  world.hostTokens.push({ hubUrl, room: "ABC234", id: "host", token: "rhh_1" });
  return { world, calls, proofs };
}

function refusal(code: "key_name_taken"): Error {
  return new RoomhubError(code, {
    ...{ status: 409, code, param: "name", hint: undefined, requestId: undefined },
    ...{ retryAfterMs: undefined, participants: undefined },
  });
}

test("create prints the key alone on stdout, and what it is for on stderr", async () => {
  const { world, calls, proofs } = makeHost();
  const args = [
    "--name",
    "ada",
    "--may",
    "use,share",
    "--models",
    "llama3, qwen3",
    "--requests-per-minute",
    "20",
    "--tokens-per-day",
    "5000",
    "--expires",
    "7d",
  ];
  expect(await world.run("key", "create", "ABC234", ...args)).toBe(0);
  expect(world.stdout.text).toBe(`${value}\n`);
  expect(world.stderr.text).not.toContain(value);
  expect(world.stderr.text).toContain("It is not shown again");
  expect(calls).toEqual([
    {
      ...{ name: "ada", may: ["use", "share"], models: ["llama3", "qwen3"] },
      requestsPerMinute: 20,
      tokensPerDay: 5_000,
      expiresInMs: 7 * 86_400_000,
    },
  ]);
  expect(proofs).toEqual([["ABC234", { hostToken: "rhh_1" }]]);
});

test("create in an open room says that the key limits nothing there", async () => {
  const { world } = makeHost({}, false);
  expect(await world.run("key", "create", "ABC234", "--name", "ada")).toBe(0);
  expect(world.stderr.text).toContain("Room ABC234 is open");
  expect(world.stderr.text).toContain("roomhub room close ABC234");
});

test.each([
  [["--may", "use,cook"], "Use one or several of use, share and watch"],
  [["--models", "a,,b"], "Use names of models with commas"],
  [["--expires", "soon"], "Must be a number with a unit"],
])("create with %j is a usage error", async (args, message) => {
  const { world, calls } = makeHost();
  expect(await world.run("key", "create", "ABC234", "--name", "ada", ...args)).toBe(2);
  expect(world.stderr.text).toContain(message);
  expect(calls).toEqual([]);
});

test("list shows names, rights and how long each is valid, never a value", async () => {
  const { world } = makeHost({
    listKeys: async () => [
      {
        id: "1",
        name: "ada",
        may: ["use"],
        models: ["m", "n"],
        requestsPerMinute: 9,
        tokensPerDay: 50_000,
        spentToday: 1_234,
        createdAt: 0,
        lastSeenDay: "1970-01-02",
      },
      { id: "2", name: "bo", may: ["share"], createdAt: 0, expiresAt: 86_400_000 },
      { id: "3", name: "cy", may: ["watch"], createdAt: 0, expiresAt: 0 },
      { id: "4", name: "di", may: ["use"], createdAt: 0, revokedAt: 0 },
    ],
  });
  expect(await world.run("key", "list", "ABC234")).toBe(0);
  expect(world.stdout.text).toMatchInlineSnapshot(`
    "NAME  MAY    MODELS  PER MINUTE  SPENT TODAY      STATE               LAST SEEN   CREATED
    ada   use    m, n    9           1,234 of 50,000  valid               1970-01-02  1970-01-01
    bo    share  all     any         not counted      until 1970-01-02    never       1970-01-01
    cy    watch  all     any         not counted      expired 1970-01-01  never       1970-01-01
    di    use    all     any         not counted      revoked 1970-01-01  never       1970-01-01
    "
  `);
});

test("revoke and rotate name the key", async () => {
  const { world, calls } = makeHost();
  expect(await world.run("key", "revoke", "ABC234", "ada")).toBe(0);
  expect(world.stderr.text).toContain("The key of ada is revoked in room ABC234");
  expect(await world.run("key", "rotate", "ABC234", "ada", "--grace", "1h")).toBe(0);
  expect(calls).toEqual([["ada", 3_600_000]]);
  expect(world.stdout.text).toBe(`${value}\n`);
});

test("the operator's file is another proof, and without any the command says what one is", async () => {
  const { world, proofs } = makeHost();
  world.context.readFile = async () => "secret\n";
  expect(await world.run("key", "revoke", "ABC234", "ada", "--operator-file", "/s")).toBe(0);
  expect(proofs).toEqual([["ABC234", { operatorSecret: "secret" }]]);
  world.hostTokens.length = 0;
  expect(await world.run("key", "list", "ABC234")).toBe(4);
  expect(world.stderr.text).toContain("--operator-file PATH");
});

const ownKey = { hubUrl, room: "ABC234", id: "key", token: value };

test.each<[string, string[], string[]]>([
  ["", [], ["host"]],
  ["another than those of its other machines", ["host"], ["host", "host-2"]],
])("room close keeps a key for the host: %s", async (_title, taken, tried) => {
  const { world, calls } = makeHost({}, true, taken);
  expect(await world.run("room", "close", "ABC234")).toBe(0);
  const may = ["use", "share", "watch"];
  expect(calls).toEqual([true, ...tried.map((name) => ({ name, may }))]);
  expect(world.keys).toEqual([ownKey]);
  expect(output(world)).not.toContain(value);
  expect(world.stderr.text).toContain(
    "roomhub invite http://127.0.0.1:5050/rooms/ABC234 --for NAME",
  );
  // The next time there is one.
  expect(await world.run("room", "close", "ABC234")).toBe(0);
  expect(calls.slice(1 + tried.length)).toEqual([true]);
});

test("room open prints what the hub warns of", async () => {
  const { world } = makeHost({
    setClosed: async () => ({
      room: aRoom(),
      warnings: [{ code: "keys_unused", message: "The keys no longer limit anyone." }],
    }),
  });
  expect(await world.run("room", "open", "ABC234")).toBe(0);
  expect(world.stderr.text).toBe(
    "! The keys no longer limit anyone.\nRoom ABC234 is open: everyone may use it\n",
  );
});

test("room create --closed keeps the first key, and prints it in JSON alone", async () => {
  const world = makeWorld(
    {},
    {
      createRoom: async (wanted) => {
        expect(wanted).toMatchObject({ name: "lab", closed: true });
        const room = aRoom({ closed: true });
        return { room, hostId: "h", hostToken: "rhh_1", key: { ...aKey, name: "host" } };
      },
    },
  );
  expect(await world.run("room", "create", "lab", "--closed")).toBe(0);
  expect(world.keys).toEqual([ownKey]);
  expect(output(world)).not.toContain("rhk_");
  expect(world.stderr.text).toContain("--for NAME");
  expect(await world.run("room", "create", "lab", "--closed", "--json")).toBe(0);
  expect(world.stdout.text).toContain(value);
});

test("invite --for prints a link with the key, and a command line without it", async () => {
  const { world, calls } = makeHost();
  expect(await world.run("invite", "ABC234", "--for", "ada", "--expires", "1d")).toBe(0);
  expect(calls).toEqual([{ name: "ada", may: undefined, expiresInMs: 86_400_000 }]);
  // A hub that does not respond hands out no page.
  expect(world.stdout.text).toBe(
    `The key of ada\n  ${value}\nOn a computer: it asks for the key, which is the end of the link\n  roomhub chat http://127.0.0.1:5050/rooms/ABC234\n`,
  );
  expect(await world.run("invite", "--for", "ada")).toBe(2);
  expect(world.stderr.text).toContain("Name the room");
});

test.each(["monitor", "metrics"])("%s of a closed room is for this machine alone", async (name) => {
  const world = makeWorld({}, { getRoom: async () => aRoom({ closed: true }) });
  expect(await world.run(name, "ABC234", "--host", "0.0.0.0")).toBe(2);
  expect(world.stderr.text).toContain("or pass --public");
  expect([world.monitors, world.metrics]).toEqual([[], []]);
});

function output({ stdout, stderr }: TestWorld): string {
  return stdout.text + stderr.text;
}
