import { expect, test } from "vitest";
import { makeWorld } from "../test-context.fixture.ts";
import { isOlder, reportNewerHub } from "./hub-health.ts";

const invite = { hubUrl: "http://10.0.0.9:5050", room: "ABC234" };

function worldWith(version: string, handout = true) {
  const health = { status: "ok", version, uptimeSeconds: 1, timestamp: "", handout } as const;
  return makeWorld({}, { health: async () => health });
}

test("an older program is pointed to the hub's own, by its version", async () => {
  const world = worldWith("1.3.0");
  await reportNewerHub(world.context, invite);
  expect(world.stderr.text).toBe(
    "! The hub runs roomhub 1.3.0, this is 1.2.3; to use the hub's: npx -y http://10.0.0.9:5050/roomhub-1.3.0.tgz join http://10.0.0.9:5050/rooms/ABC234\n",
  );
});

test.each([
  ["the same version", "1.2.3", true],
  ["an older hub", "1.2.2", true],
  ["a hub that hands out nothing", "1.3.0", false],
  ["a version that would be a command", "1.3.0;id", true],
])("nothing is printed for %s", async (_what, version, handout) => {
  const world = worldWith(version, handout);
  await reportNewerHub(world.context, invite);
  expect(world.stderr.text).toBe("");
});

test("a hub that cannot be reached changes nothing", async () => {
  const world = makeWorld();
  await reportNewerHub(world.context, invite);
  expect(world.stderr.text).toBe("");
});

test.each([
  ["0.1.0", "0.1.1", true],
  ["0.9.0", "0.10.0", true],
  ["1.0.0", "0.10.0", false],
  ["1.0.0-rc.1", "1.0.0", true],
  ["1.0.0", "1.0.0-rc.1", false],
  ["1.0.0+a", "1.0.0", false],
  ["dev", "1.0.0", false],
])("%s is older than %s: %s", (one, other, expected) => {
  expect(isOlder(one, other)).toBe(expected);
});
