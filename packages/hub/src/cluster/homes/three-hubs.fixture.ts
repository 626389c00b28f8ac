import { expect } from "vitest";
import { type Call, HomesWorld } from "./homes-world.fixture.ts";
import { type HubNode, startHub } from "./hub-node.fixture.ts";

/** Three hubs that know each other. */
export async function aWorld(random?: () => number) {
  const world = new HomesWorld<HubNode>(random);
  await world.begin();
  const [a, b, c] = [startHub(world, "a"), startHub(world, "b"), startHub(world, "c")];
  await world.run(7_000);
  return { world, a, b, c };
}

/** A world in which the first hub is the home of the room. */
export async function aHome(random?: () => number) {
  const { world, ...hubs } = await aWorld(random);
  const call = world.request(hubs.a, "R1");
  await world.run(100);
  expect(call.served).toMatchObject({ by: hubs.a, epoch: 1 });
  return { world, ...hubs };
}

export function outcome({ served, error }: Call): string {
  if (served !== undefined) return `${served.by.self.bootId} in ${served.epoch}`;
  return (error as { code?: string } | undefined)?.code ?? String(error);
}
