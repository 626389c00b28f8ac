import { systemWorld } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { MadeOnce } from "./handed-out.ts";

test("what is requested by many at once is made once", async () => {
  let made = 0;
  const one = new MadeOnce(systemWorld, "The program", async () => ++made);
  expect(one.made).toBeUndefined();
  expect(await Promise.all([one.get(), one.get(), one.get()])).toEqual([1, 1, 1]);
  expect(await one.get()).toBe(1);
  expect(one.made).toBe(1);
});

test("a failure reaches all that wait, and the next request tries again", async () => {
  let tries = 0;
  const one = new MadeOnce(systemWorld, "The program", async () => {
    tries += 1;
    if (tries === 1) throw new Error("no compiler");
    return tries;
  });
  const waiting = [one.get(), one.get()];
  for (const result of await Promise.allSettled(waiting)) {
    expect(result).toMatchObject({
      status: "rejected",
      reason: {
        code: "handout_unavailable",
        message: "The program could not be built: no compiler.",
      },
    });
  }
  expect(await one.get()).toBe(2);
});

test("a request does not wait for ever, and what it waited for is there later", async () => {
  const made = Promise.withResolvers<string>();
  const one = new MadeOnce(systemWorld, "The program", () => made.promise, 1);
  await expect(one.get()).rejects.toMatchObject({
    code: "handout_unavailable",
    message: "The program is still being built.",
  });
  made.resolve("bytes");
  expect(await one.get()).toBe("bytes");
});
