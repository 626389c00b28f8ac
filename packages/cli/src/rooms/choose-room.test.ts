import { ollamaWith } from "../snapshots/scenery.fixture.ts";
import { HubUnreachableError, RoomhubError } from "@roomhub/client";
import { expect, test } from "vitest";
import type { Interactivity } from "../terminal/interactivity.ts";
import { chooseRoom, explainUnknownRoom, unreachableHub } from "./choose-room.ts";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { answersOf, aRoom, makeWorld } from "../test-context.fixture.ts";

const silent: Interactivity = { canAsk: false, isQuiet: false };
const here = "http://127.0.0.1:5050";
const there = "http://10.0.0.2:5050";
const ana = aRoom({ id: "1", code: "AAA222", name: "ana's", participantCount: 1 });
const bea = aRoom({ id: "2", code: "BBB222", name: "bea's", passwordProtected: true });

function notFound(): RoomhubError {
  const none = { requestId: undefined, retryAfterMs: undefined, participants: undefined };
  const details = { status: 404, code: "room_not_found", param: "", hint: undefined, ...none };
  return new RoomhubError("no such room", details);
}

/** Hubs by URL with their rooms; all but the one of this machine are found on the network. */
function network(hubs: Record<string, ReturnType<typeof aRoom>[]>, one = "") {
  const questions: string[] = [];
  const world = makeWorld({
    createClient: (hubUrl) => {
      const rooms = hubs[hubUrl];
      const away = new HubUnreachableError(hubUrl, new Error("ECONNREFUSED"));
      return {
        listRooms: async () => rooms ?? Promise.reject(away),
        getRoom: async (code) => {
          if (rooms === undefined) throw away;
          return rooms.find((room) => room.code === code) ?? Promise.reject(notFound());
        },
      } as Client;
    },
    mdns: {
      announce: async () => async () => {},
      browse: async (_addresses, onHub) => {
        for (const url of Object.keys(hubs)) if (url !== here) onHub(url);
        return async () => {};
      },
    },
    prompts: answersOf(questions, { one }),
  });
  const choose = (given?: string, hubUrl?: string, interactivity = silent) =>
    chooseRoom(world.context, { given, hubUrl }, interactivity);
  return { world, questions, choose };
}

test.each<[string, string | undefined, string | undefined, Record<string, (typeof ana)[]>, object]>(
  [
    ["an invite URL", `${there}/rooms/bbb222/v1`, undefined, {}, { hubUrl: there, room: "BBB222" }],
    ["a code at a named hub", "aaa222", there, {}, { hubUrl: there, room: "AAA222" }],
    [
      "a hub with one room",
      there,
      undefined,
      { [there]: [bea] },
      { hubUrl: there, room: "BBB222" },
    ],
    [
      "a bare host name",
      "localhost",
      undefined,
      { "http://localhost:5050": [ana] },
      { room: "AAA222" },
    ],
    ["a named hub and no room", undefined, there, { [there]: [bea] }, { room: "BBB222" }],
    [
      "a code on this machine",
      "aaa222",
      undefined,
      { [here]: [ana] },
      { hubUrl: here, room: "AAA222" },
    ],
    [
      "a code on the network",
      "bbb222",
      undefined,
      { [here]: [ana], [there]: [bea] },
      { hubUrl: there },
    ],
    [
      "nothing, and one room",
      undefined,
      undefined,
      { [there]: [bea] },
      { hubUrl: there, room: "BBB222" },
    ],
  ],
)("%s is enough", async (_name, given, hubUrl, hubs, expected) => {
  expect(await network(hubs).choose(given, hubUrl)).toMatchObject(expected);
});

test("several rooms are a prompt on a terminal", async () => {
  const { choose, questions } = network({ [here]: [ana], [there]: [bea] }, "bea's (BBB222)");
  const interactivity = { canAsk: true, isQuiet: false };
  expect(await choose(undefined, undefined, interactivity)).toEqual({
    hubUrl: there,
    room: "BBB222",
  });
  expect(questions).toEqual(["Select a room | ana's (AAA222) | bea's (BBB222)"]);
});

test("an empty room comes last, so that Enter picks another", async () => {
  const left = aRoom({ id: "3", code: "CCC222", name: "left over", participantCount: 0 });
  const { choose, questions } = network({ [here]: [left, ana, bea] }, "ana's (AAA222)");
  await choose(undefined, undefined, { canAsk: true, isQuiet: false });
  expect(questions[0]).toMatch(/ana's .* bea's .* left over \(CCC222\)$/);
});

test("a room's name in place of its code is an error with the code", async () => {
  const lab = aRoom({ id: "3", code: "CCC222", name: "Lab", participantCount: 1 });
  await expect(network({ [there]: [ana, lab, bea] }).choose("lab")).rejects.toMatchObject({
    message: "No hub on this machine or its network has a room lab",
    hint: "did you mean:",
    lines: [`roomhub join ${there}/rooms/CCC222  # Lab, 1 participant`],
  });
});

test.each(["ana's", "Ana's lab", "my room"])(
  "a room's name that could be no code, like %s, is an error with the code too",
  async (name) => {
    const room = aRoom({ id: "3", code: "CCC222", name, participantCount: 1 });
    await expect(network({ [there]: [ana, room, bea] }).choose(name)).rejects.toMatchObject({
      hint: "did you mean:",
      lines: expect.arrayContaining([
        `roomhub join ${there}/rooms/CCC222  # ${name}, 1 participant`,
      ]) as string[],
    });
  },
);

test("what is pasted around a URL makes it no name", async () => {
  const invite = { hubUrl: there, room: "BBB222" };
  expect(await network({}).choose(`“${there}/rooms/BBB222”.`)).toEqual(invite);
});

test.each([
  ["another program", undefined, "is not a roomhub hub", "pass a room code", 2],
  ["a model server", ["tiny"], "is a model server, not a hub: it lists tiny", "join --endpoint", 5],
])("a URL of %s is reported as not a hub", async (_name, models, message, hint, exitCode) => {
  const { context } = network({}).world;
  const details = { status: 404, code: "invalid_response", param: "", hint: undefined };
  const none = { requestId: undefined, retryAfterMs: undefined, participants: undefined };
  const noHub = new RoomhubError("answered 404", { ...details, ...none });
  const createClient = () => ({ listRooms: () => Promise.reject(noHub) }) as unknown as Client;
  const requested = { given: "http://127.0.0.1:11434", hubUrl: undefined };
  const fetch = models === undefined ? context.fetch : ollamaWith(...models);
  const world = { ...context, createClient, fetch };
  await expect(chooseRoom(world, requested, silent)).rejects.toMatchObject({
    message: `The server at http://127.0.0.1:11434 ${message}`,
    hint: expect.stringContaining(hint),
    exitCode,
  });
});

test("several rooms are an error with the commands to choose from without a terminal", async () => {
  await expect(network({ [here]: [ana], [there]: [bea] }).choose()).rejects.toMatchObject({
    message: "There are 2 rooms to choose from",
    exitCode: 2,
    lines: [
      `roomhub join ${here}/rooms/AAA222  # ana's, 1 participant`,
      `roomhub join ${there}/rooms/BBB222  # bea's, 2 participants, join password`,
    ],
  });
});

test("a long list of rooms is shortened to a count", async () => {
  const rooms = Array.from({ length: 10 }, (_, n) => aRoom({ id: String(n), code: `AAA22${n}` }));
  const failure = await network({ [there]: rooms })
    .choose(there)
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ lines: expect.arrayContaining(["and 2 more"]) });
});

test.each<[string, string | undefined, Record<string, (typeof ana)[]>, object]>([
  [
    "no hub anywhere",
    undefined,
    {},
    { message: "No hub found on this machine or its network", exitCode: 5 },
  ],
  [
    "no hub anywhere, and a code",
    "AAA222",
    {},
    { hint: expect.stringContaining("roomhub join http://HOST:5050/rooms/CODE"), exitCode: 5 },
  ],
  [
    "a hub without rooms",
    undefined,
    { [there]: [] },
    { hint: `create one: roomhub room create "my room" --hub ${there}`, exitCode: 3 },
  ],
  [
    "a named hub without rooms",
    there,
    { [there]: [] },
    { message: `The hub at ${there} has no rooms`, exitCode: 3 },
  ],
  [
    "a hub's URL where nobody answers",
    there,
    {},
    {
      hint: expect.stringContaining("start the hub with --lan; to search for hubs: roomhub join"),
      exitCode: 5,
    },
  ],
  [
    "a mistyped code",
    "AAA223",
    { [there]: [ana, bea] },
    {
      message: "No hub on this machine or its network has a room AAA223",
      hint: "did you mean:",
      lines: [`roomhub join ${there}/rooms/AAA222  # ana's, 1 participant`],
      exitCode: 3,
    },
  ],
  ["a code unlike any", "ZZZZZZ", { [there]: [ana] }, { hint: "available rooms:", exitCode: 3 }],
])("%s ends with the next step", async (_name, given, hubs, expected) => {
  await expect(network(hubs).choose(given)).rejects.toMatchObject(expected);
});

test("a URL of neither a room nor a hub is an error with the format of an invite URL", async () => {
  const { context } = network({}).world;
  const createClient = () => ({ listRooms: () => Promise.reject(notFound()) }) as unknown as Client;
  const requested = { given: "http://10.0.0.2:5050/AAA222", hubUrl: undefined };
  await expect(chooseRoom({ ...context, createClient }, requested, silent)).rejects.toMatchObject({
    name: "InvalidHubUrlError",
    message: expect.stringContaining("is not a room URL"),
  });
});

test("the error names the reason why the network could not be searched", async () => {
  const { context } = network({}).world;
  const mdns: CliContext["mdns"] = {
    ...context.mdns,
    browse: async (_addresses, _onHub, onProblem) => {
      onProblem("bind EACCES");
      return async () => {};
    },
  };
  const requested = { given: undefined, hubUrl: undefined };
  await expect(chooseRoom({ ...context, mdns }, requested, silent)).rejects.toThrow(
    "No hub found on this machine or its network (the network could not be searched: bind EACCES)",
  );
});

test("a room that its own hub does not know is explained with the rooms it has", async () => {
  const { world } = network({ [there]: [ana] });
  const error = notFound();
  const invite = { hubUrl: there, room: "AAA22" };
  expect(await explainUnknownRoom(world.context, invite, error)).toMatchObject({
    message: `The hub at ${there} has no room AAA22`,
    hint: "did you mean:",
    exitCode: 3,
  });
  const gone = { hubUrl: here, room: "AAA22" };
  expect(await explainUnknownRoom(world.context, gone, error)).toBe(error);
});

test("a hub's name for its room cannot steer the terminal or the shell", async () => {
  const evil = aRoom({ name: "\u001b[2J\nx", code: "AAA222" });
  const other = aRoom({ id: "2", code: "; rm" });
  const world = network({ [there]: [evil, other, bea] }).world;
  world.context.isStdinTTY = false;
  const code = await world.run("join", there, "--endpoint", "http://x", "--model", "m");
  expect(code).toBe(2);
  expect(world.stderr.text).not.toContain("\u001b");
  expect(world.stderr.text).not.toContain("; rm");
});

test("the next step for an unreachable hub is another hub, for a wrong URL the right one", () => {
  const { context } = makeWorld();
  const away = new HubUnreachableError("https://hub:5050", new Error("ECONNREFUSED"));
  expect(unreachableHub(context, away).hint).toContain("start the hub with --lan");
  const cause = Object.assign(new Error("ssl"), { code: "ERR_SSL_WRONG_VERSION_NUMBER" });
  const plain = new HubUnreachableError("https://hub:5050", cause);
  expect(unreachableHub(context, plain).hint).toBe("use http://hub:5050");
});
