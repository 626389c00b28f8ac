import { expect, test } from "vitest";
import { plusTokens, tokensOf, tokenText } from "./token-sum.ts";

test.each([
  ["–", []],
  ["–", [tokensOf(undefined), tokensOf(undefined)]],
  ["0", [tokensOf(0)]],
  ["12", [tokensOf(5), tokensOf(7)]],
  ["≈ 5", [tokensOf(5), tokensOf(undefined)]],
  ["≈ 5", [tokensOf(undefined), tokensOf(5)]],
  ["≈ 85", [tokensOf(5), tokensOf(undefined, 80)]],
  ["≈ 80", [tokensOf(undefined), tokensOf(undefined, 80)]],
  ["≈ 85", [tokensOf(5), tokensOf(undefined), tokensOf(undefined, 80)]],
])("tokens are %s", (text, all) => {
  expect(tokenText(all.reduce(plusTokens, undefined))).toBe(text);
});
