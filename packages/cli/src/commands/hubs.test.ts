import type { HubEntry } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { refusing } from "../snapshots/scenery.fixture.ts";
import { makeWorld } from "../test-context.fixture.ts";

const hubs: HubEntry[] = [
  {
    ...{ hubId: "00000000000000a1", bootId: "11111111", url: "http://h1:5050", version: "1.2.3" },
    ...{ participants: 3, link: "self", isDraining: false },
  },
  {
    ...{ hubId: "00000000000000a2", bootId: "22222222", url: "http://h2:5050", version: "1.2.3" },
    ...{ participants: 0, link: "open", isDraining: true },
  },
  {
    ...{ hubId: "00000000000000a3", bootId: "33333333", url: "http://h3:5050", version: "2.0.0" },
    ...{ participants: 1, link: "down", problem: "another secret", isDraining: false },
  },
];

test("hubs lists the hubs of a cluster, and why one cannot be reached", async () => {
  const world = makeWorld({}, { listHubs: async () => hubs });
  expect(await world.run("hubs", "--hub", "http://h1:5050")).toBe(0);
  const [heading, ...lines] = world.stdout.text.trimEnd().split("\n");
  expect(heading).toMatch(/^HUB +ID +VERSION +PARTICIPANTS +LINK$/);
  expect(lines).toEqual([
    expect.stringMatching(/^http:\/\/h1:5050 +00000000000000a1 +1\.2\.3 +3 +this hub$/),
    expect.stringMatching(/ 0 +open, is stopping$/),
    expect.stringMatching(/ 1 +down: another secret$/),
  ]);
});

test("hubs says that another hub has the id of the one that responds", async () => {
  const own = { ...hubs[0], problem: "another hub has the same id" } as HubEntry;
  const world = makeWorld({}, { listHubs: async () => [own] });
  await world.run("hubs", "--hub", "http://h1:5050");
  expect(world.stdout.text).toContain("  this hub: another hub has the same id\n");
});

test("hubs shows what a failure of NATS may take back", async () => {
  const own = { ...hubs[0], warning: "NATS has one copy." } as HubEntry;
  const world = makeWorld({}, { listHubs: async () => [own, ...hubs.slice(1)] });
  expect(await world.run("hubs", "--hub", "http://h1:5050")).toBe(0);
  expect(world.stderr.text).toBe("! NATS has one copy.\n");
});

test("hubs --json prints the hub's list", async () => {
  const world = makeWorld({}, { listHubs: async () => hubs });
  await world.run("hubs", "--json");
  expect(JSON.parse(world.stdout.text)).toEqual({ hubs });
});

test("hubs of a hub that is alone is not found", async () => {
  const listHubs = refusing(404, { code: "not_found", message: "There is nothing at this path." });
  const world = makeWorld({}, { listHubs });
  expect(await world.run("hubs")).toBe(3);
  expect(world.stderr.text).toBe(
    "error: The hub at http://127.0.0.1:5050 is in no cluster\n" +
      "→ start hubs that share a NATS server: roomhub serve --nats URL\n",
  );
});

test("health of a hub that cannot reach its cluster is degraded, and a success", async () => {
  const health = {
    status: "degraded",
    version: "1.2.3",
    uptimeSeconds: 1,
    timestamp: "t",
  } as const;
  const world = makeWorld({}, { health: async () => health });
  expect(await world.run("health")).toBe(0);
  expect(world.stdout.text).toBe("http://127.0.0.1:5050 degraded (roomhub 1.2.3, up 1.0 s)\n");
  expect(world.stderr.text).toContain("cannot reach its cluster");
});
