import { expect, test } from "vitest";
import { cutTo, displayWidth, padTo } from "./display-width.ts";

test.each([
  ["", 0],
  ["llama3.2:3b", 11],
  ["Zoë", 3],
  ["Zoe\u0308", 3],
  ["安娜", 4],
  ["안나", 4],
  ["ｆｕｌｌ", 8],
  ["ｱﾅ", 2],
  ["🦙", 2],
  ["👩‍👩‍👧", 2],
  ["🇪🇸", 2],
  ["❤️", 2],
  ["✓", 1],
  ["…", 1],
  ["a\u200bb", 2],
])("%j fills %i cells", (text, cells) => {
  expect(displayWidth(text)).toBe(cells);
});

test.each([
  ["llama3", 6, "llama3"],
  ["llama3", 5, "llam…"],
  ["安娜の部屋", 5, "安娜…"],
  ["安娜の部屋", 4, "安…"],
  ["👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧…"],
  ["ab", 1, "…"],
  ["ab", 0, ""],
])("%j in %i cells is %j", (text, cells, cut) => {
  expect(cutTo(text, cells)).toBe(cut);
  expect(displayWidth(cutTo(text, cells))).toBeLessThanOrEqual(cells);
});

test("wide characters are filled up by what they fill, not by how many they are", () => {
  expect(padTo("安娜", 6)).toBe("安娜  ");
  expect(padTo("12", 4, "left")).toBe("  12");
  expect(padTo("too long", 3)).toBe("too long");
});
