import { HubUnreachableError, RoomhubError } from "@roomhub/client";
import { expect, test, vi } from "vitest";
import type { Client } from "../capabilities.ts";
import type { DoorRequest } from "../door/door.ts";
import { aParticipant, aRoom, makeWorld, type TestWorld } from "../test-context.fixture.ts";
import { aRoute } from "../doctor/doctor.fixture.ts";

const invite = "http://10.0.0.7:5050/rooms/ABC234";
const roomKey = `rhk_${"k".repeat(43)}`;
const client: Partial<Client> = {
  getRoom: async () => aRoom(),
  listRooms: async () => [aRoom()],
  listParticipants: async () => [aParticipant({ config: { context: 64_000 } })],
  explainRoute: async () => aRoute,
};
const served: DoorRequest = {
  ...{ method: "POST", path: "/v1/chat/completions", status: 200, tookMs: 1_234, bytes: 4_100 },
  problem: undefined,
};

async function opening(world: TestWorld, ...args: string[]) {
  const running = world.run("open", ...args);
  await vi.waitFor(() => expect(world.doors).toHaveLength(1));
  const [options] = world.openedDoors;
  if (options === undefined) throw new Error("no door");
  return {
    options,
    stop: () => {
      world.stop();
      return running;
    },
  };
}

test("a door prints its base URL and key on stdout, and how to use it, and ends with Ctrl+C", async () => {
  const world = makeWorld({}, client);
  const { options, stop } = await opening(world, invite);
  expect(options).toMatchObject({
    ...{ port: undefined, pin: undefined, hubKey: undefined, origins: [] },
    room: { hubUrl: "http://10.0.0.7:5050", room: "ABC234" },
  });
  expect(options.key).toMatch(/^rhd_[\w-]{43}$/);
  expect(world.stdout.text).toBe(
    `OPENAI_BASE_URL=http://127.0.0.1:5055/v1\nOPENAI_API_KEY=${options.key}\n`,
  );
  expect(world.stderr.text).toContain("over plain HTTP; Ctrl+C closes the door\n");
  expect(world.stderr.text).toContain(`→ eval "$(roomhub env ${invite})"\n`);
  expect(await stop()).toBe(0);
  expect(world.doors).toEqual([]);
});

test("the key of a door stays the same until --new-key", async () => {
  const world = makeWorld({}, client);
  for (const flags of [[], [], ["--new-key"]])
    await (await opening(world, invite, ...flags)).stop();
  const keys = world.openedDoors.map(({ key }) => key);
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});

test("each request is a line without anything secret", async () => {
  const world = makeWorld({}, client);
  const { options, stop } = await opening(world, invite);
  options.onRequest(served);
  options.onRequest({ ...served, status: 503, problem: "Hub at x is unreachable: \u001b[31m" });
  options.onRequest({ ...served, status: undefined, problem: "the client left" });
  await stop();
  const lines = world.stderr.text.split("\n").filter((line) => line.includes("POST"));
  expect(lines.map((line) => line.slice(8))).toEqual([
    "  POST /v1/chat/completions  200  1.2 s  4.1 kB",
    "  POST /v1/chat/completions  503  1.2 s  4.1 kB  Hub at x is unreachable: �[31m",
    "  POST /v1/chat/completions  —  1.2 s  4.1 kB  the client left",
  ]);
});

test("--json prints the door, and one object per request", async () => {
  const world = makeWorld({}, client);
  const { options, stop } = await opening(world, invite, "--json");
  options.onRequest(served);
  await stop();
  const [door, request] = world.stdout.text.split("\n").map((line) => line && JSON.parse(line));
  expect(door).toMatchObject({ baseUrl: "http://127.0.0.1:5055/v1", port: 5055, room: "ABC234" });
  expect(request).toEqual({ request: JSON.parse(JSON.stringify(served)) });
});

test("the hub gets the key of a closed room, and in an open one the name that --as gives", async () => {
  const closed = makeWorld(
    { env: { ROOMHUB_KEY: roomKey } },
    { ...client, getRoom: async () => aRoom({ closed: true }) },
  );
  const first = await opening(closed, invite);
  expect(first.options.hubKey).toBe(roomKey);
  await first.stop();
  const open = makeWorld({ env: { ROOMHUB_KEY: roomKey } }, client);
  const second = await opening(open, invite, "--as", "alice");
  expect(second.options.hubKey).toBe("as-alice");
  await second.stop();
});

test("a second door to a room says where the first is, and ends", async () => {
  const world = makeWorld({}, client);
  world.doors.push({ hubUrl: "http://10.0.0.7:5050", room: "ABC234", port: 5055 });
  expect(await world.run("open", invite)).toBe(1);
  expect(world.stderr.text).toBe(
    `error: The door to room ABC234 is open already at http://127.0.0.1:5055/v1, in process 77\n→ use it: eval "$(roomhub env ${invite})"\n`,
  );
});

test("a door opens while its hub is away, but not to a room that there is not", async () => {
  const away = new HubUnreachableError("http://10.0.0.7:5050", new Error("connect ECONNREFUSED"));
  const world = makeWorld({}, { ...client, getRoom: () => Promise.reject(away) });
  await (await opening(world, invite)).stop();
  expect(world.stderr.text).toContain("! Hub at http://10.0.0.7:5050 is unreachable");
  const details = { status: 404, code: "room_not_found", param: "", hint: undefined };
  const unknown = new RoomhubError("no such room", {
    ...details,
    ...{ requestId: undefined, retryAfterMs: undefined, participants: undefined },
  });
  const other = makeWorld({}, { ...client, getRoom: () => Promise.reject(unknown) });
  expect(await other.run("open", invite)).toBe(3);
});

test.each(["localhost:3000", "http://localhost:3000/page", "*", "null", "file:///x"])(
  "%s is no origin",
  async (origin) => {
    const world = makeWorld({}, client);
    expect(await world.run("open", invite, "--allow-origin", origin)).toBe(2);
    expect(world.stderr.text).toContain("Must be an origin, like http://localhost:3000.");
  },
);

test.each([invite, "https://10.0.0.7:5050/rooms/ABC234", "abc234"])(
  "env %s points programs at the door that is open for the room",
  async (room) => {
    const world = makeWorld({}, client);
    const { options, stop } = await opening(world, invite);
    world.stdout.text = "";
    expect(await world.run("env", room)).toBe(0);
    expect(world.stdout.text).toBe(
      [
        "export OPENAI_BASE_URL=http://127.0.0.1:5055/v1",
        `export OPENAI_API_KEY=${options.key}`,
        "export ANTHROPIC_BASE_URL=http://127.0.0.1:5055",
        `export ANTHROPIC_API_KEY=${options.key}\n`,
      ].join("\n"),
    );
    await stop();
  },
);

test("env of another room, or of the same code at a named hub, has that hub's URL", async () => {
  const world = makeWorld({}, client);
  const { stop } = await opening(world, invite);
  world.stdout.text = "";
  await world.run("env", "XYZ789");
  await world.run("env", "ABC234", "--hub", "http://10.0.0.8:5050");
  expect(world.stdout.text).toContain("http://127.0.0.1:5050/rooms/XYZ789/v1\n");
  expect(world.stdout.text).toContain("http://10.0.0.8:5050/rooms/ABC234/v1\n");
  expect(world.stdout.text).not.toContain("5055");
  await stop();
});

const pin = `sha256-${"p".repeat(43)}`;

test("env of a hub with a pinned key needs a door, since no client can check the key", async () => {
  const world = makeWorld({}, client);
  expect(await world.run("env", `${invite}#pin=${pin}`)).toBe(1);
  expect(world.stdout.text).toContain("cannot check the pinned key");
  expect(world.stderr.text).toContain(
    "→ open a door for them, and leave it open: roomhub open https://10.0.0.7:5050/rooms/ABC234\n",
  );
});

test("launch at a hub with a pinned key opens a door for as long as its program runs", async () => {
  const closed = vi.fn(async () => undefined);
  const world = makeWorld({}, client);
  const { openDoor } = world.context;
  world.context.openDoor = async (options) => ({
    ...(await openDoor(options)),
    port: 7,
    close: closed,
  });
  world.programs.installed.add("codex");
  const room = `${invite}#pin=${pin}`;
  expect(await world.run("launch", "codex", room, "--model", "llama3", "--as", "alice")).toBe(0);
  const [options] = world.openedDoors;
  expect(options).toMatchObject({
    ...{ port: 0, pin, hubKey: "as-alice", origins: [] },
    room: { hubUrl: "https://10.0.0.7:5050", room: "ABC234" },
  });
  const [started] = world.programs.started;
  expect(started?.args).toContain("model_providers.room.base_url=http://127.0.0.1:7/v1");
  expect(started?.env["ROOM_API_KEY"]).toBe(options?.key);
  expect(closed).toHaveBeenCalledOnce();
  world.stderr.text = "";
  expect(await world.run("launch", "codex", room, "--model", "llama3", "--print")).toBe(1);
  expect(world.stderr.text).toContain("open a door for them");
});

test("launch points its program at the door, whose key is in no argument", async () => {
  const world = makeWorld({}, client);
  world.programs.installed.add("codex");
  const { options, stop } = await opening(world, invite);
  expect(await world.run("launch", "codex", "ABC234", "--model", "llama3")).toBe(0);
  const [started] = world.programs.started;
  expect(started?.args).toContain("model_providers.room.base_url=http://127.0.0.1:5055/v1");
  expect(started?.args.join(" ")).not.toContain("rhd_");
  expect(started?.env["ROOM_API_KEY"]).toBe(options.key);
  await stop();
});
