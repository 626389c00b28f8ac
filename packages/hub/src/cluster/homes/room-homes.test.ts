import { describe, expect, test } from "vitest";
import { HomesWorld } from "./homes-world.fixture.ts";

async function aWorld(count = 3) {
  const world = new HomesWorld();
  const names = ["a", "b", "c", "d"].slice(0, count);
  const hubs = names.map((name) => world.start(name));
  await world.run(7_000);
  const [a, b, c] = hubs;
  if (a === undefined || b === undefined || c === undefined) throw new Error("three hubs at least");
  return { world, a, b, c };
}

describe("a room without a home", () => {
  test("has its home at the hub that gets its first request, and the other hubs send theirs there", async () => {
    const { world, a, b } = await aWorld();
    const first = world.request(a, "R1");
    await world.run(100);
    const second = world.request(b, "R1");
    await world.run(100);
    expect(first.served).toMatchObject({ by: a, epoch: 1 });
    expect(second.served).toMatchObject({ by: a, epoch: 1 });
    expect(a.taken).toEqual(["R1 1"]);
  });
});
