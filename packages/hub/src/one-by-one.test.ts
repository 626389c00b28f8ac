import { expect, test } from "vitest";
import { OneByOne } from "./one-by-one.ts";

test("work of one key begins when the one before has settled, that of another key at once", async () => {
  const begun: string[] = [];
  const inOrder = new OneByOne();
  const first = Promise.withResolvers<number>();
  const begin = (name: string, work: Promise<number> = Promise.resolve(1)) => {
    begun.push(name);
    return work;
  };
  const results = [
    inOrder.run("a", () => begin("a1", first.promise)),
    inOrder.run("a", () => begin("a2")),
    inOrder.run("b", () => begin("b1")),
  ] as const;
  await results[2];
  expect(begun).toEqual(["a1", "b1"]);
  first.reject(new Error("it failed"));
  await expect(results[0]).rejects.toThrow("it failed");
  await expect(results[1]).resolves.toBe(1);
  expect(begun).toEqual(["a1", "b1", "a2"]);
});
