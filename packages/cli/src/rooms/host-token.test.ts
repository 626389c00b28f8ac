import { expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import { aRoom, makeWorld } from "../test-context.fixture.ts";
import { createHostedRoom, savedHostToken } from "./host-token.ts";

const hubUrl = "http://127.0.0.1:5050";
const wanted = { name: "lab", password: undefined };
const client: Partial<Client> = {
  createRoom: async () => ({ room: aRoom(), hostId: "host-1", hostToken: "rhh_secret" }),
};

test("the host token of a new room is saved, and found for that room at that hub", async () => {
  const { context } = makeWorld({}, client);
  const { room } = await createHostedRoom(context, context.createClient(hubUrl), hubUrl, wanted);
  expect(await savedHostToken(context, { hubUrl, room: room.code })).toBe("rhh_secret");
  expect(await savedHostToken(context, { hubUrl, room: "XYZ789" })).toBeUndefined();
});

test("a host token that cannot be saved is a warning that does not contain it", async () => {
  const full = Promise.reject(new Error("EROFS: read-only file system"));
  full.catch(() => {});
  const world = makeWorld({ savedTokens: () => full }, client);
  const hub = world.context.createClient(hubUrl);
  const created = await createHostedRoom(world.context, hub, hubUrl, wanted);
  expect(created.hostToken).toBe("rhh_secret");
  expect(world.stderr.text).toBe(
    "! The host token of room ABC234 could not be saved: EROFS: read-only file system\n",
  );
});

test.each([[["room", "create", "lab", "--any-model"]], [["room", "create", "lab"]]])(
  "%j saves the token, and serves any model only with the option",
  async (args) => {
    const aliases: unknown[] = [];
    const world = makeWorld(
      {},
      {
        ...client,
        setAlias: async (code, pattern, targets, options) => {
          aliases.push([code, pattern, targets, options?.hostToken]);
          return { pattern, targets: [...targets], createdAt: 1 };
        },
      },
    );
    expect(await world.run(...args)).toBe(0);
    expect(world.hostTokens).toEqual([{ hubUrl, room: "ABC234", id: "host", token: "rhh_secret" }]);
    expect(aliases).toEqual(
      args.includes("--any-model") ? [["ABC234", "*", ["*"], "rhh_secret"]] : [],
    );
    expect(world.stdout.text + world.stderr.text).not.toContain("rhh_");
  },
);

test("room create sends the operator's secret beside the room, not in it", async () => {
  const sent: unknown[] = [];
  const createRoom: Client["createRoom"] = async (...args) => {
    sent.push(args);
    return { room: aRoom(), hostId: "host-1" };
  };
  const world = makeWorld({ readFile: async () => "secret\n" }, { ...client, createRoom });
  expect(await world.run("room", "create", "lab", "--operator-file", "/s")).toBe(0);
  expect(sent).toEqual([[{ name: "lab", password: undefined }, { operatorSecret: "secret" }]]);
  expect(world.stdout.text + world.stderr.text).not.toContain("secret");
});
