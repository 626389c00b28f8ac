import { expect, test } from "vitest";
import { Reach } from "./reach.ts";

function aReach() {
  const world = { nowMs: 0, bootId: "a1" as string | undefined };
  const reach = new Reach({ bootIdOf: () => world.bootId, nowMs: () => world.nowMs });
  const hub = { hubId: "a", bootId: "a1" };
  return { world, reach, hub, sight: () => [reach.isDoubted(hub), reach.isRefused(hub)] };
}

test("a hub is in doubt from a reset or a refused dial until it is reached", () => {
  const { reach, sight } = aReach();
  expect(sight()).toEqual([false, false]);
  reach.reset("a");
  expect(sight()).toEqual([true, false]);
  reach.reached("a");
  expect(sight()).toEqual([false, false]);
  reach.refused("a");
  expect(sight()).toEqual([true, true]);
});

test("it has refused dials from the first to the last one since it was reached", () => {
  const { world, reach } = aReach();
  for (const nowMs of [1_000, 1_500, 3_000]) {
    world.nowMs = nowMs;
    reach.refused("a");
  }
  world.nowMs = 60_000;
  expect(reach.refusedForMs("a")).toBe(2_000);
  reach.reached("a");
  reach.refused("a");
  expect(reach.refusedForMs("a")).toBe(0);
});

test("its next life is not in doubt", () => {
  const { world, reach, hub } = aReach();
  reach.refused("a");
  world.nowMs = 5_000;
  reach.refused("a");
  world.bootId = "a2";
  expect([reach.isDoubted({ ...hub, bootId: "a2" }), reach.refusedForMs("a")]).toEqual([false, 0]);
  reach.tidy();
  reach.refused("a");
  expect(reach.refusedForMs("a")).toBe(0);
});

test("a hub that never announced itself is not in doubt", () => {
  const { world, reach, sight } = aReach();
  world.bootId = undefined;
  reach.refused("a");
  expect(sight()).toEqual([false, false]);
});
