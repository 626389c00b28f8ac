import { assert, constantFrom, nat, property, string } from "fast-check";
import { expect, test, vi } from "vitest";
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

test("ASCII text is measured and cut like other text", () => {
  const beside = "安";
  assert(
    property(asciiText(), nat(12), (text, cells) => {
      expect(displayWidth(text)).toBe(displayWidth(text + beside) - 2);
      expect(cutTo(text, cells)).toBe(text.length <= cells ? text : cutBefore(text, cells));
    }),
  );
});

function asciiText() {
  return string({
    unit: constantFrom(...Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at))),
  });
}

function cutBefore(text: string, cells: number): string {
  return cells === 0 ? "" : `${text.slice(0, cells - 1)}…`;
}

test("text of ASCII alone is never taken apart", () => {
  const segment = vi.spyOn(Intl.Segmenter.prototype, "segment");
  expect(padTo(cutTo("llama3.2:3b", 8), 10)).toBe("llama3.…  ");
  segment.mockClear();
  for (const cells of [3, 11, 20]) padTo(cutTo("llama3.2:3b", cells), cells);
  // The ellipsis is none of it.
  expect(segment).toHaveBeenCalledTimes(1);
  segment.mockRestore();
});

test("wide characters are filled up by what they fill, not by how many they are", () => {
  expect(padTo("安娜", 6)).toBe("安娜  ");
  expect(padTo("12", 4, "left")).toBe("  12");
  expect(padTo("too long", 3)).toBe("too long");
});
