import type { RoomListResponse } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { type ClusterHub, startCluster } from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

async function roomsAt(hub: ClusterHub): Promise<RoomListResponse> {
  return (await (await hub.fetch("/v1/rooms")).json()) as RoomListResponse;
}

/** Two hubs, each the home of a room with one participant; the first room was made at the other hub. */
async function twoRooms(stack: AsyncDisposableStack) {
  const provider = stack.use(await startFakeProvider());
  const cluster = stack.use(await startCluster(2));
  const [one, other] = cluster.hubs as [ClusterHub, ClusterHub];
  const first = await other.createRoom();
  const second = await one.createRoom();
  await joinDirect(one, first, { endpoint: provider.url });
  await joinDirect(other, second, { endpoint: provider.url });
  await cluster.linked();
  return { cluster, one, other, first, second };
}

test("the list of rooms is the same at every hub, with the participants that each home knows", async () => {
  await using stack = new AsyncDisposableStack();
  const { one, other, first, second } = await twoRooms(stack);
  const empty = await one.createRoom();
  const counts = async (hub: ClusterHub) => {
    const { rooms, unreachable } = await roomsAt(hub);
    expect(unreachable).toBeUndefined();
    return rooms.map(({ code, participantCount }) => [code, participantCount]);
  };
  const expected = [
    [first, 1],
    [second, 1],
    [empty, 0],
  ];
  expect([await counts(one), await counts(other)]).toEqual([expected, expected]);
  const page = await (await one.fetch("/", { headers: { accept: "text/html" } })).text();
  expect(page.match(/1 participant</g)).toHaveLength(2);
});

test("a hub that does not respond is named, and its rooms are listed without their participants", async () => {
  await using stack = new AsyncDisposableStack();
  const { one, other, first, second } = await twoRooms(stack);
  // Its presence stays, as that of a hub that was killed does for some seconds.
  other.directory.cutOff();
  await other.hub.close();
  const { rooms, unreachable } = await roomsAt(one);
  expect(unreachable).toEqual([{ hubId: expect.any(String), url: other.url }]);
  expect(rooms.map(({ code, participantCount }) => [code, participantCount])).toEqual([
    [first, 1],
    [second, 0],
  ]);
});

test("who watches all rooms at one hub sees the events of every room once, in their order", async () => {
  await using stack = new AsyncDisposableStack();
  const { one, other, first, second } = await twoRooms(stack);
  const watchers = [await one.watch(undefined), await other.watch(undefined)];
  // Streams between hubs open with the first watcher.
  const ask = async (hub: ClusterHub, code: string) => {
    const json = { model: "ada", messages: userSays("hello") };
    const response = await hub.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    expect(response.status).toBe(200);
    return response.headers.get("x-request-id");
  };
  for (const [watcher, hub, code] of [
    [watchers[0]!, other, second],
    [watchers[1]!, one, first],
  ] as const) {
    await until(
      "events of the other hub",
      async () => {
        await ask(hub, code);
        return watcher.of("llm.complete").some(({ data }) => data.roomCode === code);
      },
      (isThere) => isThere,
    );
  }
  const requestIds = new Set<unknown>();
  for (let n = 0; n < 5; n++) {
    requestIds.add(await ask(one, first));
    requestIds.add(await ask(other, second));
  }
  const third = await one.createRoom();
  for (const watcher of watchers) {
    const of = (code: string) =>
      watcher.events
        .filter(({ data }) => data.roomCode === code && requestIds.has(data["requestId"]))
        .map(({ kind }) => kind);
    await watcher.waitFor("all of it", () => of(first).length >= 10 && of(second).length >= 10);
    const pairs = Array.from({ length: 5 }, () => ["llm.request", "llm.complete"]).flat();
    expect([of(first), of(second)]).toEqual([pairs, pairs]);
    await watcher.waitFor("the room", () => watcher.of("room.created").length === 1);
    expect(watcher.of("room.created")[0]?.data.roomCode).toBe(third);
    const numbers = watcher.events.map(({ id = "" }) => Number(id.split("-").at(-1)));
    expect(numbers).toEqual(numbers.map((_n, at) => numbers[0]! + at));
  }
});
