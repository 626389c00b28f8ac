import { RoomhubError } from "@roomhub/client";
import type { RouteExplanation } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { aRoute } from "../doctor/doctor.fixture.ts";
import type { Client } from "../capabilities.ts";
import { aRoom, capture, makeWorld } from "../test-context.fixture.ts";

const getRoom = async () => aRoom();

const [ana] = aRoute.participants as [RouteExplanation["participants"][number]];

const byName: RouteExplanation = {
  ...aRoute,
  model: "llama3",
  readAs: "model",
  participants: [
    { ...ana, verdict: "asked", reason: "serves llama3" },
    {
      ...ana,
      id: "bob",
      model: "llama3:latest",
      verdict: "next",
      reason: "takes over if ana-llama3 fails before it responds",
    },
    {
      ...ana,
      id: "carl",
      model: "qwen",
      verdict: "passed-over",
      reason: "serves qwen",
      connection: { ...ana.connection, path: "none" },
    },
  ],
  onFailure: { movesTo: "bob", reason: "it goes once to bob, while no answer has begun" },
};

test("route shows the alias, and the targets that do not take the request", async () => {
  const alias: NonNullable<RouteExplanation["alias"]> = {
    pattern: "claude-*",
    target: "llama3",
    targets: [
      { target: "coder", verdict: "passed-over", reason: "No participant serves it." },
      { target: "llama3", verdict: "taken", reason: "the first" },
      { target: "*", verdict: "standby", reason: "tried when llama3 cannot serve the request" },
    ],
  };
  const world = makeWorld(
    {},
    { getRoom, explainRoute: async () => ({ ...byName, model: "claude-1", alias }) },
  );
  expect(await world.run("route", "ABC234", "--model", "claude-1")).toBe(0);
  const lines = world.stdout.text.split("\n");
  expect(lines[0]).toBe(
    "claude-1 on chat in room ABC234: alias claude-* → llama3, read as a model name",
  );
  expect(lines.filter((line) => line.startsWith("Target "))).toEqual([
    "Target coder: skipped, No participant serves it.",
    "Target *: standby, tried when llama3 cannot serve the request",
  ]);
});

const explained = [
  "llama3 on chat in room ABC234: read as a model name",
  "",
  "ID          MODEL          VERDICT   PATH    LOAD  WHY",
  "ana-llama3  llama3         selected  tunnel  1/4   serves llama3",
  "bob         llama3:latest  next      tunnel  1/4   takes over if ana-llama3 fails before it responds",
  "carl        qwen           skipped   none    1/4   serves qwen",
  "",
  "0 requests queued in this room (limit 256, up to 1 min 00 s each).",
  "On failure: it goes once to bob, while no answer has begun.",
  "",
];

test.each([
  ["a pipe", capture()],
  ["a terminal", capture(100)],
])(
  "on %s, route tells each participant's part in the order it is considered",
  async (_n, stdout) => {
    const asked: unknown[] = [];
    const world = makeWorld(
      { stdout },
      {
        getRoom,
        explainRoute: async (...question) => {
          asked.push(question);
          return byName;
        },
      },
    );
    const args = ["abc234", "--model", "llama3", "--protocol", "responses"];
    expect(await world.run("route", ...args)).toBe(0);
    const question = { model: "llama3", protocol: "openResponses", promptBytes: 4_096 };
    expect(asked).toEqual([["ABC234", question]]);
    const lines = explained.map((line) => line.replace(" on chat ", " on responses "));
    expect(stdout.text.split("\n")).toEqual(lines);
    expect(world.stderr.text).toBe("");
  },
);

test.each([
  [["abc234"], "*"],
  [["--room", "abc234"], "*"],
  [["http://hub:5050/rooms/abc234/v1", "qwen3"], "qwen3"],
  [["hub.example", "--model", "qwen3"], "qwen3"],
  [[], "*"],
])("the room and the model are arguments or options: %j", async (args, model) => {
  const asked: unknown[] = [];
  const explainRoute: Client["explainRoute"] = async (code, question) => {
    asked.push([code, question.model]);
    return aRoute;
  };
  const listRooms = async () => [aRoom()];
  const world = makeWorld({}, { explainRoute, listRooms, getRoom });
  expect(await world.run("route", ...args)).toBe(0);
  expect(asked).toEqual([["ABC234", model]]);
});

test("without a room, a hub with several is an error with a line for each", async () => {
  const listRooms = async () => [aRoom(), aRoom({ code: "XYZ789", name: "kitchen" })];
  const world = makeWorld({}, { listRooms });
  expect(await world.run("route", "http://hub:5050")).toBe(2);
  expect(world.stderr.text).toContain("roomhub route http://hub:5050/rooms/XYZ789  # kitchen");
});

test("a request that waits is no failure", async () => {
  const queue = { ...aRoute.queue, waiting: 1 };
  const explainRoute = async () => ({ ...aRoute, queue, outcome: "waits" as const });
  const world = makeWorld({}, { explainRoute, getRoom });
  expect(await world.run("route", "ABC234")).toBe(0);
  expect(world.stdout.text).toContain(
    "All matching participants are at capacity or loading, so the request waits: 1 request queued in this room (limit 256,",
  );
});

test.each([
  [404, "model_not_found", 3],
  [503, "participant_offline", 1],
])("a refusal of %i %s is explained, and ends with %i", async (status, code, exitCode) => {
  const refusal = {
    status,
    code,
    message: "No participant serves it.",
    hint: "roomhub models ABC234",
  };
  const explainRoute = async () => ({ ...aRoute, participants: [], refusal });
  const world = makeWorld({}, { explainRoute, getRoom });
  expect(await world.run("route", "ABC234")).toBe(exitCode);
  expect(world.stdout.text).toContain("read as any participant");
  expect(world.stderr.text).toBe("error: No participant serves it.\n→ roomhub models ABC234\n");
});

test("--json prints the hub's explanation", async () => {
  const world = makeWorld({}, { explainRoute: async () => byName, getRoom });
  expect(await world.run("route", "ABC234", "--json")).toBe(0);
  expect(JSON.parse(world.stdout.text)).toEqual(byName);
});

test.each([
  [["ABC234", "--room", "ABC234"]],
  [["ABC234", "qwen3", "--model", "qwen3"]],
  [["ABC234", "--protocol", "telnet"]],
])("%j is a wrong command line", async (args) => {
  expect(await makeWorld().run("route", ...args)).toBe(2);
});

test("a request by model name shows what can be expected of each participant", async () => {
  const stdout = capture();
  const expected = {
    waitMs: 0,
    firstTokenMs: 1_250,
    promptBytesPerSecond: 9_600,
    warmBytes: 3_000,
  };
  const questions: unknown[] = [];
  const world = makeWorld(
    { stdout },
    {
      getRoom,
      explainRoute: async (_room, question) => {
        questions.push(question);
        return {
          ...aRoute,
          participants: [
            { ...ana, reason: "serves llama3", expected },
            { ...ana, id: "bob", expected: {} },
          ],
        };
      },
    },
  );
  const line = [
    "route",
    "ABC234",
    "--model",
    "llama3",
    "--session",
    "s1",
    "--prompt-bytes",
    "9000",
  ];
  await world.run(...line);
  expect(questions).toEqual([
    { model: "llama3", protocol: "chatCompletions", session: "s1", promptBytes: 9_000 },
  ]);
  expect(stdout.text).toContain("WAIT  FIRST TOKEN  PROMPT RATE  CACHED");
  expect(stdout.text).toContain("0 ms  1.3 s        9.6 KB/s     3.0 KB  serves llama3");
});

test("of several rooms, lines to paste name each, with the model", async () => {
  const world = makeWorld({}, { listRooms: async () => [aRoom(), aRoom({ code: "DEF567" })] });
  expect(await world.run("route", "http://192.168.1.5:5050", "qwen 3")).toBe(2);
  expect(world.stderr.text).toContain(
    "roomhub route http://192.168.1.5:5050/rooms/DEF567 'qwen 3'  #",
  );
});

test("a model server in place of a hub is named as one", async () => {
  const refused = new RoomhubError("404 page not found", {
    ...{ status: 404, code: "", param: "", hint: undefined, requestId: undefined },
    ...{ retryAfterMs: undefined, participants: undefined },
  });
  const world = makeWorld(
    { fetch: async () => Response.json({ object: "list", data: [{ id: "llama3.2" }] }) },
    { listRooms: () => Promise.reject(refused) },
  );
  expect(await world.run("route", "http://127.0.0.1:11434", "llama3.2")).toBe(5);
  expect(world.stderr.text).toContain("is a model server, not a hub: it lists llama3.2");
});
