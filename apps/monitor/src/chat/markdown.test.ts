import { assert, property, string, constantFrom, array } from "fast-check";
import { describe, expect, test } from "vitest";
import { type Inline, parseInline } from "./markdown-inline.ts";
import { type Block, parseMarkdown } from "./markdown.ts";

const paragraph = (...inlines: Inline[]): Block => ({ kind: "paragraph", inlines });

describe("blocks", () => {
  test.each<[string, Block[]]>([
    ["one\ntwo\n\nthree", [paragraph("one", { kind: "break" }, "two"), paragraph("three")]],
    ["## Title ##", [{ kind: "heading", level: 2, inlines: ["Title"] }]],
    ["#hashtag", [paragraph("#hashtag")]],
    ["a\n***\nb", [paragraph("a"), { kind: "rule" }, paragraph("b")]],
    [
      "> a\n> > b",
      [{ kind: "quote", blocks: [paragraph("a"), { kind: "quote", blocks: [paragraph("b")] }] }],
    ],
    [
      "text\n```js\nif (a) {\n  b();\n}\n```\nafter",
      [
        paragraph("text"),
        { kind: "code", language: "js", text: "if (a) {\n  b();\n}" },
        paragraph("after"),
      ],
    ],
    ["```\nnot **yet** closed", [{ kind: "code", language: "", text: "not **yet** closed" }]],
    ["````md\n```\n````", [{ kind: "code", language: "md", text: "```" }]],
    [
      "| a | b |\n|---|:-:|\n| 1 | `x\\|y` |\n| 2 |",
      [
        {
          kind: "table",
          heads: [["a"], ["b"]],
          rows: [
            [["1"], [{ kind: "code", text: "x\\|y" }]],
            [["2"], []],
          ],
        },
      ],
    ],
    ["a | b", [paragraph("a | b")]],
  ])("%j", (text, blocks) => {
    expect(parseMarkdown(text)).toEqual(blocks);
  });

  test.each<[string, number | undefined, Block[][]]>([
    ["- a\n- b", undefined, [[paragraph("a")], [paragraph("b")]]],
    ["3. a\n\n4. b", 3, [[paragraph("a")], [paragraph("b")]]],
    ["- a\n  more", undefined, [[paragraph("a", { kind: "break" }, "more")]]],
    [
      "1. a\n   - b\n   - c\n2. d",
      1,
      [
        [
          paragraph("a"),
          { kind: "list", start: undefined, items: [[paragraph("b")], [paragraph("c")]] },
        ],
        [paragraph("d")],
      ],
    ],
    [
      "1. a\n   ```sh\n   ls\n   ```",
      1,
      [[paragraph("a"), { kind: "code", language: "sh", text: "ls" }]],
    ],
  ])("the list %j", (text, start, items) => {
    expect(parseMarkdown(text)).toEqual([{ kind: "list", start, items }]);
  });

  test("a list ends where a paragraph or another kind of list begins", () => {
    const kinds = parseMarkdown("- a\n\nb\n\n- c\n1. d\n# e").map(({ kind }) => kind);
    expect(kinds).toEqual(["list", "paragraph", "list", "list", "heading"]);
  });
});

describe("inlines", () => {
  test.each<[string, Inline[]]>([
    [
      "a **b *c* d** e",
      ["a ", { kind: "strong", inlines: ["b ", { kind: "emphasis", inlines: ["c"] }, " d"] }, " e"],
    ],
    ["~~a~~ _b_", [{ kind: "deleted", inlines: ["a"] }, " ", { kind: "emphasis", inlines: ["b"] }]],
    ["snake_case_name, 2 * 3 * 4", ["snake_case_name, 2 * 3 * 4"]],
    ["a ** b", ["a ** b"]],
    ["**not closed", ["**not closed"]],
    ["`a **b**` ``c`d``", [{ kind: "code", text: "a **b**" }, " ", { kind: "code", text: "c`d" }]],
    ["`not closed", ["`not closed"]],
    [String.raw`\*a\*`, ["*a*"]],
    [
      "[a *b*](https://x.example/?q=1)",
      [{ kind: "link", url: "https://x.example/?q=1", inlines: ["a *b*"] }],
    ],
    [
      "see https://x.example/a.",
      ["see ", { kind: "link", url: "https://x.example/a", inlines: ["https://x.example/a"] }, "."],
    ],
    ["<b>bold</b> &amp;", ["<b>bold</b> &amp;"]],
  ])("%j", (text, inlines) => {
    expect(parseInline(text)).toEqual(inlines);
  });

  test.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "//x.example",
    "JAVASCRIPT:x",
    " vbscript:x",
  ])("a link to %j is text", (url) => {
    expect(JSON.stringify(parseInline(`[a](${url})`))).not.toContain('"link"');
  });
});

/** Everything that is shown. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textOf).join("");
  if (typeof value !== "object" || value === null) return "";
  const { kind: _, url: __, language: ___, ...shown } = value as Record<string, unknown>;
  return textOf(Object.values(shown));
}

const piece = constantFrom(
  ...["**", "*", "_", "~~", "`", "```", "\n", "\n\n", "- ", "1. ", "  ", "> ", "# ", "| ", "|-|\n"],
  ...["[", "](", ")", "https://a.b", "\\", "word", " "],
);

test("no word of any text is lost, wherever it ends", () => {
  assert(
    property(array(piece, { maxLength: 60 }), (pieces) => {
      const text = pieces.join("");
      const words = (shown: string) => shown.match(/word/g)?.length ?? 0;
      expect(words(textOf(parseMarkdown(text)))).toBeLessThanOrEqual(words(text));
      // The language of code, cells beyond the heads of a table, and URLs are not shown.
      if (!/```|~~~|\||\(/.test(text)) expect(words(textOf(parseMarkdown(text)))).toBe(words(text));
    }),
    { numRuns: 2_000 },
  );
  assert(property(string({ maxLength: 200 }), (text) => void parseMarkdown(text)));
});

test.each([
  "**a ",
  "*a ",
  "_a ",
  "`a",
  "[a ",
  "[a](",
  "> ",
  "- a\n  ",
  "a|",
  "~~a ",
  "\\",
  "* * ",
  "![a](b",
])(
  "100,000 characters of %j are parsed within the limit of a test",
  (part) => {
    // Were it quadratic, it would take minutes.
    parseMarkdown(part.repeat(100_000 / part.length));
  },
  5_000,
);
