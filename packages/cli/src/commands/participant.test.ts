import { RoomhubError } from "@roomhub/client";
import type { JoinResponse } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { aParticipant, aRoom, makeWorld } from "../test-context.fixture.ts";

const gpu: CliContext["fetch"] = async (url, init) => {
  if (!url.startsWith("http://gpu:8000/")) throw new TypeError("fetch failed");
  const isKnown = new Headers(init.headers).get("authorization") !== "Bearer wrong";
  return isKnown
    ? Response.json({ data: [{ id: "qwen3:latest" }] })
    : Response.json({ error: { message: "no" } }, { status: 401 });
};

/** A hub with one room, in which joins succeed. */
function hub(given: Partial<Client> = {}) {
  const joins: unknown[][] = [];
  const client: Partial<Client> = {
    getRoom: async () => aRoom(),
    listParticipants: async () => [],
    join: async (...args) => {
      joins.push(args);
      const body = args[1];
      return {
        participant: aParticipant({ id: body.id, model: body.model }),
        participantToken: "rhp_secret",
      } as JoinResponse;
    },
    ...given,
  };
  return { joins, world: makeWorld({ fetch: gpu }, client) };
}

const add = ["participant", "add", "gpu:8000", "--room", "ABC234"];

test("an added endpoint is one that the hub probes, named as join names it", async () => {
  const { joins, world } = hub();
  expect(await world.run(...add)).toBe(0);
  expect(joins).toEqual([
    [
      "ABC234",
      {
        id: "ana-qwen3",
        nickname: "Ana",
        model: "qwen3:latest",
        endpoint: "http://gpu:8000",
        liveness: "probe",
      },
      { token: undefined },
    ],
  ]);
  expect(world.stdout.text).toBe("ana-qwen3\n");
  expect(world.stderr.text).toContain("roomhub participant remove ana-qwen3");
});

test("the token is kept for later, and shown nowhere", async () => {
  const { world } = hub();
  await world.run(...add, "--json");
  expect(world.tokens).toEqual([
    { hubUrl: "http://127.0.0.1:5050", room: "ABC234", id: "ana-qwen3", token: "rhp_secret" },
  ]);
  expect(world.stdout.text + world.stderr.text).not.toContain("rhp_secret");
});

test("credentials for the endpoint come from variables and go to the hub", async () => {
  const { joins, world } = hub();
  world.context.env = { KEY: "Bearer right" };
  const serving = ["--max-concurrency", "2", "--responses", "native"];
  await world.run(...add, "--auth-header-env", "Authorization=KEY", ...serving);
  expect(joins[0]![1]).toMatchObject({
    authHeaders: { Authorization: "Bearer right" },
    config: { maxConcurrency: 2, responses: "native" },
  });
});

test("an endpoint that refuses the credentials is not added", async () => {
  const { joins, world } = hub();
  expect(await world.run(...add, "--auth-header", "Authorization: Bearer wrong")).toBe(4);
  expect(joins).toEqual([]);
  expect(world.stderr.text).toContain("rejected the credentials");
});

test("an endpoint that only the hub reaches is added with a named model", async () => {
  const { joins, world } = hub();
  await world.run("participant", "add", "http://10.0.0.9/v1", "--room", "ABC234", "--model", "m");
  expect(joins[0]![1]).toMatchObject({ model: "m", endpoint: "http://10.0.0.9/v1" });
});

test("adding the same participant again proves that it is ours", async () => {
  const { joins, world } = hub();
  await world.run(...add);
  await world.run(...add);
  expect(joins[1]![2]).toEqual({ token: "rhp_secret" });
});

test("remove takes the participant out with the token that was kept", async () => {
  const left: unknown[][] = [];
  const { world } = hub({
    leave: async (...args) => {
      left.push(args);
    },
  });
  await world.run(...add);
  expect(await world.run("participant", "remove", "ana-qwen3")).toBe(0);
  expect(left).toEqual([["ABC234", "ana-qwen3", { token: "rhp_secret" }]]);
  expect(world.tokens).toEqual([]);
  expect(world.stderr.text).toContain("ana-qwen3 left room ABC234\n");
});

test("a participant that the hub has forgotten is removed here too", async () => {
  const { world } = hub({
    leave: async () => {
      throw new RoomhubError("No such participant", {
        ...{ code: "participant_not_found", status: 404, param: "", hint: "" },
        ...{ requestId: undefined, retryAfterMs: undefined, participants: undefined },
      });
    },
  });
  await world.run(...add);
  expect(await world.run("participant", "remove", "ana-qwen3")).toBe(0);
  expect(world.tokens).toEqual([]);
  expect(world.stderr.text).toContain("ana-qwen3 was no longer in room ABC234\n");
});

test("an id that was added to two rooms needs its room", async () => {
  const { world } = hub({ leave: async () => {} });
  await world.run(...add);
  await world.run("participant", "add", "gpu:8000", "--room", "XYZ789");
  expect(await world.run("participant", "remove", "ana-qwen3")).toBe(2);
  expect(world.stderr.text).toContain(
    "roomhub participant remove ana-qwen3 --room http://127.0.0.1:5050/rooms/XYZ789",
  );
  expect(await world.run("participant", "remove", "ana-qwen3", "--room", "XYZ789")).toBe(0);
  expect(world.tokens.map(({ room }) => room)).toEqual(["ABC234"]);
});

test("an id that was not added from here is refused with the other way to remove it", async () => {
  const { world } = hub();
  expect(await world.run("participant", "remove", "ben")).toBe(3);
  expect(world.stderr.text).toContain("roomhub leave ROOM ben --token-env VARIABLE");
});
