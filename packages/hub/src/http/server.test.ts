import { systemWorld } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { Turns } from "./server.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("sixteen begin at once, the others in the turns after it, all in their order", async () => {
  const begun: number[] = [];
  const turns = new Turns<number>(systemWorld, (item) => void begun.push(item));
  for (let item = 0; item < 40; item++) turns.take(item);
  expect(begun).toHaveLength(16);
  await turn();
  expect(begun).toHaveLength(32);
  turns.take(40);
  expect(begun).toHaveLength(32);
  await turn();
  turns.take(41);
  await turn();
  expect(begun).toEqual(Array.from({ length: 42 }, (_, item) => item));
});

test("as many begin in each turn", async () => {
  const begun: number[] = [];
  const turns = new Turns<number>(systemWorld, (item) => void begun.push(item));
  for (let round = 1; round <= 3; round++) {
    for (let item = 0; item < 16; item++) turns.take(item);
    expect(begun).toHaveLength(16 * round);
    await turn();
  }
});
