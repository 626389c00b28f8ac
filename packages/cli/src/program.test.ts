import { HubUnreachableError, RoomhubError } from "@roomhub/client";
import { expect, test, vi } from "vitest";
import type { Client } from "./capabilities.ts";
import { createProgram } from "./program.ts";
import { aParticipant, aRoom, makeWorld } from "./test-context.fixture.ts";

function refusal(status: number, code: string, hint = "do this instead"): RoomhubError {
  return new RoomhubError(`refused with ${code}`, {
    status,
    code,
    param: "",
    hint,
    requestId: undefined,
    retryAfterMs: undefined,
    participants: [{ id: "ana", model: "llama3", reason: "is offline" }],
  });
}

function failing(failure: Error): Partial<Client> {
  return { getRoom: () => Promise.reject(failure) };
}

test.each<[number, string, Partial<Client>, string[]]>([
  [0, "success", { getRoom: async () => aRoom() }, ["room", "show", "ABC234"]],
  [0, "help", {}, ["--help"]],
  [0, "help of a command", {}, ["room", "create", "--help"]],
  [0, "the version", {}, ["--version"]],
  [1, "any other failure", failing(new Error("boom")), ["room", "show", "ABC234"]],
  [1, "a failure of the hub", failing(refusal(500, "internal_error")), ["room", "show", "ABC234"]],
  [2, "no command", {}, []],
  [2, "an unknown command", {}, ["frobnicate"]],
  [2, "an unknown option", {}, ["room", "list", "--frob"]],
  [2, "a missing argument", {}, ["room", "show"]],
  [2, "too many arguments", {}, ["room", "show", "ABC234", "DEF567"]],
  [2, "a port that is none", {}, ["serve", "--port", "70000"]],
  [2, "an ownership that is none", {}, ["serve", "--ownership", "mine"]],
  [2, "a hub URL that is none", {}, ["health", "--hub", "ftp://x"]],
  [2, "an invitation that is none", {}, ["room", "show", "../x"]],
  [2, "a password variable that is not set", {}, ["room", "create", "x", "--password-env", "NO"]],
  [2, "a password file that is not there", {}, ["room", "create", "x", "--password-file", "/no"]],
  [2, "two passwords", {}, ["room", "create", "x", "--password", "a", "--password-env", "B"]],
  [2, "an id that cannot be one", {}, ["join", "ABC234", "--id", "any"]],
  [2, "a room that is none", {}, ["join", "ftp://x", "--endpoint", "http://x", "--model", "m"]],
  [2, "a header that is none", {}, ["join", "ABC234", "--header", "nonsense"]],
  [2, "specs that are no JSON", {}, ["join", "ABC234", "--specs", "gpu"]],
  [2, "nothing to ask", {}, ["chat", "", "--room", "ABC234"]],
  [3, "an unknown room", failing(refusal(404, "room_not_found")), ["room", "show", "ABC234"]],
  [4, "a wrong password", failing(refusal(401, "invalid_password")), ["room", "show", "ABC234"]],
  [4, "a missing token", failing(refusal(403, "…")), ["room", "show", "ABC234"]],
  [4, "an id that is taken", failing(refusal(409, "…")), ["room", "show", "ABC234"]],
  [
    5,
    "nobody at the hub URL",
    failing(new HubUnreachableError("http://x", new Error("no"))),
    ["room", "show", "ABC234"],
  ],
])("the exit code is %i for %s", async (code, _name, client, args) => {
  const world = makeWorld({}, client);
  expect(await world.run(...args)).toBe(code);
});

test("a refusal shows its message, the next step, and every participant with its reason", async () => {
  const world = makeWorld({}, failing(refusal(404, "room_not_found")));
  await world.run("room", "show", "ABC234");
  expect(world.stdout.text).toBe("");
  expect(world.stderr.text).toBe(
    "error: refused with room_not_found\n→ do this instead\n  ana (llama3): is offline\n",
  );
});

test("an unreachable hub is one line and one next step", async () => {
  const world = makeWorld({}, failing(new HubUnreachableError("http://x", new Error("no"))));
  await world.run("room", "show", "ABC234");
  expect(world.stderr.text).toBe(
    "error: Hub at http://x is unreachable: no\n→ on that machine, start the hub with --lan; to search for hubs: roomhub join\n",
  );
});

test("the hint of a hub that is not the usual one names it, so that it can be pasted", async () => {
  const hint = "Share a model: roomhub join ABC234; or see roomhub room list";
  const client = failing(refusal(404, "room_not_found", hint));
  const there = makeWorld({ commandName: "npx roomhub" }, client);
  await there.run("room", "show", "http://10.0.0.2:5050/rooms/ABC234");
  expect(there.stderr.text).toContain(
    "→ Share a model: npx roomhub join http://10.0.0.2:5050/rooms/ABC234; or see npx roomhub room list --hub http://10.0.0.2:5050\n",
  );
  const here = makeWorld({}, client);
  await here.run("room", "show", "ABC234");
  expect(here.stderr.text).toContain(`→ ${hint}\n`);
});

test("the hub comes from the environment when --hub is absent", async () => {
  const env = { ROOMHUB_URL: "hub.example:6060/v1" };
  const world = makeWorld({ env }, { listRooms: async () => [] });
  await world.run("room", "list");
  await world.run("room", "list", "--hub", "http://other");
  expect(world.clientUrls).toEqual(["http://hub.example:6060", "http://other"]);
});

test("an environment that names no hub's URL is an error that names the variable", async () => {
  const world = makeWorld({ env: { ROOMHUB_URL: "http://" } });
  expect(await world.run("room", "list")).toBe(2);
  expect(world.stderr.text).toMatch(/^error: ROOMHUB_URL: "http:\/\/" is not a hub URL; /);
});

test("of the process's own environment nothing is taken", async () => {
  vi.stubEnv("ROOMHUB_URL", "http://elsewhere");
  const world = makeWorld({}, { listRooms: async () => [] });
  await world.run("room", "list");
  vi.unstubAllEnvs();
  expect(world.clientUrls).toEqual(["http://127.0.0.1:5050"]);
});

test("in a checkout the help, usage errors and hub hints have the npx prefix", async () => {
  const hint = refusal(404, "room_not_found", "roomhub room list");
  const world = makeWorld({ commandName: "npx roomhub" }, failing(hint));
  await world.run("room", "--help");
  await world.run("room", "lst");
  await world.run("room", "show", "ABC234");
  expect(world.stdout.text).toMatch(/^Usage: npx roomhub room\|rooms /);
  expect(world.stderr.text).toContain(
    "Usage: npx roomhub room [options] [command]  (more: npx roomhub room --help",
  );
  expect(world.stderr.text).toContain("→ npx roomhub room list\n");
});

test.each([
  [["models"], "→ list rooms and their codes: roomhub room list"],
  [["chat", "Why", "not?"], 'Quote the prompt, after the room: roomhub chat ABC234 "Why?"'],
  [["chat", "Why", "is", "it?"], "→ quote the prompt, after the room: roomhub chat"],
  [["chat", "ABC234", "Why?", "--room", "ABC234"], "--room already names the room."],
  [["models", "--room", "ABC234"], "→ pass the room as an argument: roomhub models ABC234"],
  [["doctor", "--room", "ABC234"], "→ pass the room as an argument: roomhub doctor ABC234"],
])("%j is an error with a hint", async (args, hint) => {
  const world = makeWorld();
  expect(await world.run(...args)).toBe(2);
  expect(world.stderr.text).toContain(hint);
});

test("--verbose shows stack traces, including those of causes", async () => {
  const failure = new Error("boom", { cause: new Error("the reason") });
  const quiet = makeWorld({}, failing(failure));
  await quiet.run("room", "show", "ABC234");
  expect(quiet.stderr.text).toBe("error: boom\n");
  for (const args of [
    ["--verbose", "room", "show"],
    ["room", "show", "--verbose"],
  ]) {
    const world = makeWorld({}, failing(failure));
    await world.run(...args, "ABC234");
    expect(world.stderr.text).toMatch(
      /^error: boom\nError: boom\n +at [^]*caused by: Error: the reason\n/,
    );
  }
});

test("a mistyped command is an error with a suggestion and one usage line", async () => {
  const world = makeWorld();
  await world.run("modles", "ABC234");
  expect(world.stderr.text).toContain("→ did you mean models?\n");
  expect(world.stderr.text).toContain("Usage: roomhub ");
});

test.each([
  ["list", "→ rooms: npx roomhub room list; models of a room: npx roomhub models ABC234\n"],
  ["status", "→ the hub: npx roomhub health; "],
  ["share", "→ share models of this machine: npx roomhub join; "],
  ["kick", "→ remove a participant: npx roomhub room kick ABC234 ID\n"],
])(
  "%s, which is another program's command, is an error with the command here",
  async (word, hint) => {
    const world = makeWorld({ commandName: "npx roomhub" });
    expect(await world.run(word, "claude")).toBe(2);
    expect(world.stderr.text).toContain(`error: unknown command '${word}'\n${hint}`);
  },
);

test("the help lists commands that it does not load with the arguments and names that they have", async () => {
  const { context } = makeWorld();
  const loaded = await createProgram(context);
  const listed = await createProgram(context, undefined, ["--help"]);
  expect(listed.helpInformation()).toBe(loaded.helpInformation());
  expect(listed.commands.every(({ options }) => options.length === 0)).toBe(true);
});

test("the commands that other programs' words lead to exist", async () => {
  const world = makeWorld();
  const program = await createProgram(world.context);
  const known = program.commands.map((command) => command.name());
  for (const word of ["list", "ls", "ps", "status", "share", "start", "run", "kick"]) {
    world.stderr.text = "";
    await world.run(word);
    const named = [...world.stderr.text.matchAll(/roomhub ([a-z]+)/g)].map(([, name = ""]) => name);
    expect(named.length, word).toBeGreaterThan(0);
    expect(known).toEqual(expect.arrayContaining(named));
  }
});

test("a command without a room argument gives no hint about rooms", async () => {
  const world = makeWorld();
  expect(await world.run("serve", "--room", "lab")).toBe(2);
  expect(world.stderr.text).not.toContain("→ the room");
});

test("a mistyped option is an error with the usage of its command", async () => {
  const world = makeWorld();
  await world.run("room", "list", "--jsn");
  expect(world.stderr.text).toContain("→ did you mean --json?\n");
  expect(world.stderr.text).toContain("Usage: roomhub room list ");
});

test("the version is the package's", async () => {
  const world = makeWorld();
  await world.run("--version");
  expect(world.stdout.text).toBe("1.2.3\n");
});

test("an invite URL wins over --hub", async () => {
  const world = makeWorld({}, { listParticipants: async () => [aParticipant()] });
  await world.run("participants", "http://other:6060/rooms/abc234/v1", "--hub", "http://x:1");
  expect(world.clientUrls).toEqual(["http://other:6060"]);
});

test("text from the network cannot steer the terminal", async () => {
  const evil = "\u001b[2Jgone\u202e\n";
  const client: Partial<Client> = {
    listParticipants: async () => [aParticipant({ nickname: evil, model: evil, endpoint: evil })],
    listRooms: async () => [aRoom({ name: evil })],
    getRoom: () => Promise.reject(refusal(404, evil)),
  };
  const world = makeWorld({}, client);
  await world.run("participants", "ABC234");
  await world.run("room", "list");
  await world.run("room", "show", "ABC234");
  const everything = world.stdout.text + world.stderr.text;
  expect(everything).not.toContain("\u001b");
  expect(everything).not.toContain("\u202e");
});

test.each<[string, number, string[], Record<string, string>]>([
  ["a mistyped one is refused", 2, [], { ROOMHUB_QUEUE_WAIT: "5" }],
  ["one of nothing is not set", 0, [], { ROOMHUB_NONSENSE: "" }],
  ["somebody else's is none of ours", 0, [], { HUB_ROOMS: "5" }],
  ["one that the command line names is the user's", 0, ["--password-env"], { ROOMHUB_MINE: "x" }],
])("of variables, %s", async (_name, code, args, env) => {
  const createRoom = async () => ({ room: aRoom(), hostId: "h" });
  const world = makeWorld({ env }, { createRoom });
  const named = args.length > 0 ? [...args, "ROOMHUB_MINE"] : [];
  expect(await world.run("room", "create", "lab", ...named)).toBe(code);
});
