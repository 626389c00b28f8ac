import { expect, test } from "vitest";
import { boundaryOf } from "./form-boundary.ts";

test.each([
  ["multipart/form-data; boundary=abc", "abc"],
  ['multipart/form-data; charset=utf-8; boundary="a b:c"', "a b:c"],
  ["multipart/form-data; boundary=----WebKitFormBoundaryAb1", "----WebKitFormBoundaryAb1"],
  ["multipart/form-data", undefined],
  ["multipart/form-data; boundary=", undefined],
  ['multipart/form-data; boundary="a "', undefined],
  [`multipart/form-data; boundary=${"a".repeat(71)}`, undefined],
])("the boundary of %j is %j", (type, expected) => {
  expect(boundaryOf(type)).toBe(expected);
});
