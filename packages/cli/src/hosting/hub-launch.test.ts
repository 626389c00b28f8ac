import { expect, test } from "vitest";
import { isBlockedPort } from "./hub-launch.ts";
import { makeWorld } from "../test-context.fixture.ts";

// fetch refuses these by their number alone: nothing is called.
test.each([22, 2049, 5060, 6000, 6667, 10_080])(
  "port %i is one that fetch refuses",
  async (port) => {
    expect(isBlockedPort(port)).toBe(true);
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toMatchObject({
      cause: { message: "bad port" },
    });
  },
);

test.each([0, 80, 443, 5050, 5059, 8080, 11_434])("port %i is free to use", (port) => {
  expect(isBlockedPort(port)).toBe(false);
});

test("a hub does not start on a port that fetch blocks", async () => {
  const world = makeWorld();
  expect(await world.run("serve", "--port", "5060")).toBe(2);
  expect(world.stderr.text).toBe(
    "error: Port 5060 belongs to another protocol; browsers and Node block it\n→ choose another: --port 5050\n",
  );
  expect(world.hubs).toEqual([]);
});
