import { expect, test } from "vitest";
import { RequestMinutes } from "./request-minutes.ts";

const ada = { id: "1" };
const bob = { id: "2" };

test("a key sends as many requests as its limit in the minute that begins with the first", () => {
  const minutes = new RequestMinutes();
  expect([minutes.count(ada, 2, 5_000), minutes.count(ada, 2, 6_000)]).toEqual([0, 0]);
  expect(minutes.count(ada, 2, 25_000)).toBe(40_000);
  expect(minutes.count(ada, 2, 64_999)).toBe(1);
  expect([65_000, 65_000, 65_000].map((ms) => minutes.count(ada, 2, ms))).toEqual([0, 0, 60_000]);
});

test("a request of one key does not count for another", () => {
  const minutes = new RequestMinutes();
  expect([minutes.count(ada, 1, 0), minutes.count(bob, 1, 1_000)]).toEqual([0, 0]);
  expect([minutes.count(ada, 1, 60_000), minutes.count(bob, 1, 60_000)]).toEqual([0, 1_000]);
});
