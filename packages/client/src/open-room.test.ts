import { expect, test } from "vitest";
import { RoomhubClient } from "./client.ts";
import { RoomhubError } from "./errors.ts";
import { openEvents, sendJson, startFakeHub } from "./fake-hub.fixture.ts";
import { openRoom, type RoomClient } from "./client.ts";

const lab = { id: "r", code: "ABC234", name: "lab", hostId: "h", createdAt: 1 };
const ada = { id: "ada", nickname: "Ada", model: "llama3", endpoint: "http://127.0.0.1:11434" };

/** A hub with one room, which responds to everything else with an object of all lists. */
function startLab() {
  return startFakeHub((request, response) => {
    if (request.url === "/v1/rooms/ABC234") return sendJson(response, 200, { room: lab });
    if (request.url.endsWith("/events")) {
      openEvents(response, 10);
      const who = { participantId: "ada", nickname: "Ada" };
      const event = { type: "participant.left", timestamp: "t", roomCode: "ABC234", ...who };
      response.write(`event: participant.left\ndata: ${JSON.stringify(event)}\n\n`);
      return;
    }
    sendJson(response, 200, {
      participants: [1],
      data: [2],
      participant: 3,
      requests: [4],
      aliases: [5],
      alias: 6,
    });
  });
}

test("a room is looked up once and has its base URL", async () => {
  await using hub = await startLab();
  const room = await new RoomhubClient({ hubUrl: hub.url }).room("abc234");
  expect(room).toMatchObject({ hubUrl: hub.url, code: "ABC234", name: "lab", info: lab });
  expect(room.baseURL).toBe(`${hub.url}/rooms/ABC234/v1`);
  expect(hub.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "GET /v1/rooms/ABC234",
  ]);
});

test("a wrong code fails when the room is looked up", async () => {
  await using hub = await startFakeHub((_request, response) => {
    sendJson(response, 404, { error: { message: "No room.", code: "room_not_found" } });
  });
  const looking = new RoomhubClient({ hubUrl: hub.url }).room("ZZZ999");
  await expect(looking).rejects.toBeInstanceOf(RoomhubError);
  await expect(looking).rejects.toMatchObject({ code: "room_not_found" });
});

test.each<[string, (room: RoomClient) => Promise<unknown>, string, unknown]>([
  ["participants", (r) => r.participants(), "GET /v1/rooms/ABC234/participants", [1]],
  ["participant", (r) => r.participant("ada"), "GET /v1/rooms/ABC234/participants/ada", 3],
  ["models", (r) => r.models(), "GET /v1/rooms/ABC234/models", [2]],
  ["requests", (r) => r.requests(), "GET /v1/rooms/ABC234/requests", [4]],
  ["aliases", (r) => r.aliases(), "GET /v1/rooms/ABC234/aliases", [5]],
  ["setAlias", (r) => r.setAlias("a", ["*"]), "POST /v1/rooms/ABC234/aliases", 6],
  [
    "removeAlias",
    (r) => r.removeAlias("a"),
    "DELETE /v1/rooms/ABC234/aliases?pattern=a",
    undefined,
  ],
  [
    "explainRoute",
    (r) => r.explainRoute({ model: "llama3" }),
    "GET /v1/rooms/ABC234/route?model=llama3",
    expect.anything(),
  ],
  ["join", (r) => r.join(ada), "POST /rooms/ABC234/join", expect.anything()],
  [
    "updateParticipant",
    (r) => r.updateParticipant("ada", { nickname: "A" }, { token: "rhp_1" }),
    "PUT /v1/rooms/ABC234/participants/ada",
    expect.anything(),
  ],
  [
    "leave",
    (r) => r.leave("ada", { token: "rhp_1" }),
    "DELETE /v1/rooms/ABC234/participants/ada",
    undefined,
  ],
])("%s requests the resource of the room", async (_name, call, expected, response) => {
  await using hub = await startLab();
  const room = await new RoomhubClient({ hubUrl: hub.url }).room("ABC234");
  expect(await call(room)).toEqual(response);
  const { method, url } = hub.requests.at(-1)!;
  expect(`${method} ${url}`).toBe(expected);
});

test("events() yields the events of the room until the loop ends", async () => {
  await using hub = await startLab();
  const room = await new RoomhubClient({ hubUrl: hub.url }).room("ABC234");
  for await (const event of room.events()) {
    expect(event).toMatchObject({ type: "participant.left", participantId: "ada" });
    break;
  }
  expect(hub.requests.at(-1)!.url).toBe("/v1/rooms/ABC234/events");
});

test("openRoom accepts any URL of the room", async () => {
  await using hub = await startLab();
  for (const invite of [`${hub.url}/rooms/abc234`, `${hub.url}/rooms/ABC234/v1`]) {
    expect((await openRoom(invite)).baseURL).toBe(`${hub.url}/rooms/ABC234/v1`);
  }
  expect((await openRoom("abc234", { hubUrl: hub.url })).hubUrl).toBe(hub.url);
});

test("opening a room can be aborted", async () => {
  const controller = new AbortController();
  const reason = new Error("changed my mind");
  await using hub = await startFakeHub(() => controller.abort(reason));
  const opening = openRoom("ABC234", { hubUrl: hub.url, signal: controller.signal });
  await expect(opening).rejects.toBe(reason);
});
