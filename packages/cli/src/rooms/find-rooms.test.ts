import { expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { findRooms } from "./find-rooms.ts";
import type { mdns } from "../hosting/mdns.ts";
import { aRoom, makeWorld, passing, noTimers } from "../test-context.fixture.ts";

type Mdns = typeof mdns;

const here = "http://127.0.0.1:5050";
const ana = aRoom({ id: "1", code: "AAA222", name: "ana's" });
const bea = aRoom({ id: "2", code: "BBB222", name: "bea's" });

/** A network on which these hubs have these rooms; those on other machines announce themselves. */
function network(hubs: Record<string, Client["listRooms"]>, over: Partial<Mdns> = {}) {
  const asked: string[] = [];
  const searches = { open: 0, addresses: [] as string[] };
  const context: CliContext = {
    ...makeWorld().context,
    createClient: (hubUrl) => {
      asked.push(hubUrl);
      const listRooms = hubs[hubUrl] ?? (() => Promise.reject(new Error("refused")));
      return { listRooms } as Client;
    },
    mdns: {
      announce: async () => async () => {},
      browse: async (addresses, onHub) => {
        searches.open++;
        searches.addresses.push(...addresses);
        for (const url of Object.keys(hubs)) if (url !== here) onHub(url);
        return async () => {
          searches.open--;
        };
      },
      ...over,
    },
  };
  return { context, asked, searches };
}

test("this machine's hub and announced hubs are queried, and the search ends", async () => {
  const { context, searches } = network({
    [here]: async () => [ana],
    "http://10.0.0.2:5050": async () => [bea],
  });
  const found = await findRooms(context);
  expect(found).toEqual({
    rooms: [
      { hubUrl: here, room: ana },
      { hubUrl: "http://10.0.0.2:5050", room: bea },
    ],
    hubUrls: [here, "http://10.0.0.2:5050"],
    problem: undefined,
  });
  expect(searches).toEqual({ open: 0, addresses: ["192.168.1.5"] });
});

test("a hub announced twice is queried once, and a room reachable at two addresses is listed once", async () => {
  const other = "http://192.168.1.5:5050";
  const { context, asked } = network(
    { [here]: async () => [ana], [other]: async () => [ana] },
    {
      browse: async (_addresses, onHub) => {
        onHub(other);
        onHub(other);
        return async () => {};
      },
    },
  );
  expect((await findRooms(context)).rooms).toEqual([{ hubUrl: here, room: ana }]);
  expect(asked).toEqual([here, other]);
});

test("a hub without a response, or with an invalid room, is not found", async () => {
  const evil = aRoom({ id: "3", code: "$(rm -rf)" });
  const { context } = network({ "http://10.0.0.3:1": async () => [evil] });
  expect(await findRooms(context)).toMatchObject({ rooms: [], hubUrls: ["http://10.0.0.3:1"] });
});

test("the room that is looked for ends the search before its time", async () => {
  const { context, searches } = network({ "http://10.0.0.2:5050": async () => [bea] });
  const found = await findRooms(
    { ...context, world: passing({ after: noTimers }) },
    ({ code }) => code === "BBB222",
  );
  expect(found.rooms).toHaveLength(1);
  expect(searches.open).toBe(0);
});

test("a network that cannot be searched is reported, and other rooms are still found", async () => {
  const browse: Mdns["browse"] = async (_addresses, _onHub, onProblem) => {
    onProblem("bind EACCES 0.0.0.0:5353");
    onProblem("another");
    return async () => {};
  };
  const { context } = network({ [here]: async () => [ana] }, { browse });
  expect(await findRooms(context)).toMatchObject({
    rooms: [{ room: ana }],
    problem: "bind EACCES 0.0.0.0:5353",
  });
});

test("a machine without a network searches itself", async () => {
  const { context, searches } = network({});
  await findRooms({ ...context, lanAddresses: () => [{ address: "fd00::1", interfaceName: "e" }] });
  expect(searches.addresses).toEqual(["127.0.0.1"]);
});
