import { describe, expect, test } from "vitest";
import { aParticipant, listed } from "./room-events.fixture.ts";
import { roomSource } from "./room-source.ts";

const room = {
  id: "6f1c1f0e-0000-4000-8000-000000000001",
  code: "ABC234",
  name: "lab",
  hostId: "6f1c1f0e-0000-4000-8000-000000000002",
  createdAt: 0,
  passwordProtected: false,
  participantCount: 1,
};
const client = {
  events: () => (async function* () {})(),
  getRoom: async () => room,
  listParticipants: async () => [aParticipant()],
  listRequests: async () => [listed("r1")],
};
const { signal } = new AbortController();

describe("roomSource", () => {
  test("opens the stream with detail", () => {
    const opened: unknown[] = [];
    const noEvents = client.events();
    const source = roomSource(
      {
        ...client,
        events: (code, { detail }) => {
          opened.push([code, detail]);
          return noEvents;
        },
      },
      "ABC234",
    );
    source.events({ signal, onOpen: () => {}, onDisconnect: () => {} });
    expect(opened).toEqual([["ABC234", true]]);
  });

  test("reads the room and both lists", async () => {
    const lists = await roomSource(client, "ABC234").lists(signal);
    expect(lists).toEqual({ room, participants: [aParticipant()], requests: [listed("r1")] });
  });

  test.each([
    [404, undefined],
    [503, "rejects"],
  ])("a list of requests that fails with %i", async (status, outcome) => {
    const failure = Object.assign(new Error(`status ${status}`), { status });
    const source = roomSource({ ...client, listRequests: () => Promise.reject(failure) }, "ABC234");
    if (outcome === undefined) expect((await source.lists(signal)).requests).toBeUndefined();
    else await expect(source.lists(signal)).rejects.toBe(failure);
  });
});
