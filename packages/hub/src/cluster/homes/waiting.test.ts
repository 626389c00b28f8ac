import { describe, expect, test } from "vitest";
import { Waiting } from "./waiting.ts";

describe("what waits for a room", () => {
  test("goes on in the order in which it came", async () => {
    const waiting = new Waiting<string>();
    const order: number[] = [];
    const all = [1, 2, 3].map((n) =>
      waiting.wait("R1", 100).then((place) => order.push(n) && place),
    );
    waiting.resolveFirst("R1", "first");
    waiting.resolve("R1", "rest");
    expect(await Promise.all(all)).toEqual(["first", "rest", "rest"]);
    expect([order, waiting.codes()]).toEqual([[1, 2, 3], []]);
  });

  test("ends at its deadline, and not before", async () => {
    const waiting = new Waiting<string>();
    const short = waiting.wait("R1", 100);
    const long = waiting.wait("R1", 101);
    waiting.expire(99, () => new Error("too early"));
    waiting.expire(100, (code) => new Error(`no home of ${code}`));
    await expect(short).rejects.toThrow("no home of R1");
    waiting.resolve("R1", "here");
    expect(await long).toBe("here");
  });
});
