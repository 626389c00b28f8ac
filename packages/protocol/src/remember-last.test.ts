import { expect, test } from "vitest";
import { rememberLast } from "./remember-last.ts";

test("the last result is returned again for the same object and computed for another", () => {
  const called: string[] = [];
  const lengthOf = rememberLast(({ text }: { text: string }) => (called.push(text), [text.length]));
  const [one, other] = [{ text: "one" }, { text: "other" }];
  const first = lengthOf(one);
  expect(lengthOf(one)).toBe(first);
  expect(lengthOf(other)).toEqual([5]);
  expect(lengthOf(one)).toEqual([3]);
  expect(lengthOf({ text: "one" })).toEqual([3]);
  expect(called).toEqual(["one", "other", "one", "one"]);
});
