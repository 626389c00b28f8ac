import { expect, test } from "vitest";
import { trackOutage } from "./outage.ts";

test("an outage of several begins once and ends with the last, however often each is reported", () => {
  const outage = trackOutage();
  expect(outage.began("a", 1000)).toBe(true);
  expect(outage.began("b", 1500)).toBe(false);
  expect(outage.began("a", 2000)).toBe(false);
  expect(outage.ended("a", 3000)).toBeUndefined();
  expect(outage.ended("b", 4000)).toBe(3000);
  expect(outage.began("b", 9000)).toBe(true);
});

test("a participant that was not affected does not end the outage", () => {
  expect(trackOutage().ended("a", 5)).toBeUndefined();
});
