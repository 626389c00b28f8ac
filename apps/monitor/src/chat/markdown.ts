import { type Inline, parseInline } from "./markdown-inline.ts";

/** A part of a Markdown text, as data: nothing in it is ever markup of a page. */
export type Block =
  | { kind: "paragraph"; inlines: Inline[] }
  | { kind: "heading"; level: number; inlines: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; blocks: Block[] }
  /** `start` is the number of the first item; undefined for bullets */
  | { kind: "list"; start: number | undefined; items: Block[][] }
  | { kind: "table"; heads: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

/** Lists in lists, and quotes in quotes; what is deeper is text. */
const mostDepth = 6;

const fence = /^ {0,3}(`{3,}|~{3,}) *([^`]*)$/;
const heading = /^ {0,3}(#{1,6}) +(.*)$/;
const rule = /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/;
const quote = /^ {0,3}> ?/;
const item = /^( {0,3})(?:[-*+]|(\d{1,9})[.)])( +|$)/;
const delimiter = /^ *\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$/;

/**
 * The part of CommonMark that models write, with tables. It may end anywhere, as the text of a stream does: a block of code
 * without its end reaches to the end of the text.
 */
export function parseMarkdown(text: string): Block[] {
  return parseLines(text.replaceAll("\t", "    ").split(/\r?\n/), 0);
}

function parseLines(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let index = 0;
  while (index < lines.length) {
    if (isBlank(lines[index])) index++;
    else {
      const { block, end } = readBlock(lines, index, depth);
      blocks.push(block);
      index = end;
    }
  }
  return blocks;
}

/** The block that begins at a line that is not blank, and the line after it. */
interface Read {
  block: Block;
  end: number;
}

function readBlock(lines: readonly string[], start: number, depth: number): Read {
  const line = lines[start] ?? "";
  const fenced = fence.exec(line);
  if (fenced !== null) return readCode(lines, start, fenced);
  const headed = heading.exec(line);
  if (headed !== null) {
    const inlines = parseInline((headed[2] ?? "").replace(/ +#+ *$/, ""));
    return { block: { kind: "heading", level: headed[1]?.length ?? 1, inlines }, end: start + 1 };
  }
  if (rule.test(line)) return { block: { kind: "rule" }, end: start + 1 };
  if (quote.test(line) && depth < mostDepth) return readQuote(lines, start, depth);
  if (item.test(line) && depth < mostDepth) return readList(lines, start, depth);
  if (line.includes("|") && delimiter.test(lines[start + 1] ?? "")) return readTable(lines, start);
  return readParagraph(lines, start);
}

function readCode(
  lines: readonly string[],
  start: number,
  [, marks = "", info = ""]: string[],
): Read {
  const language = /^\S*/.exec(info)?.[0] ?? "";
  const indent = new RegExp(`^ {0,${/^ */.exec(lines[start] ?? "")?.[0].length ?? 0}}`);
  const text: string[] = [];
  let end = start + 1;
  for (; end < lines.length; end++) {
    const line = lines[end] ?? "";
    const closing = fence.exec(line);
    if (closing?.[1]?.startsWith(marks) === true && closing[2] === "") break;
    text.push(line.replace(indent, ""));
  }
  return { block: { kind: "code", language, text: text.join("\n") }, end: end + 1 };
}

function readQuote(lines: readonly string[], start: number, depth: number): Read {
  let end = start;
  const inner: string[] = [];
  for (; end < lines.length && quote.test(lines[end] ?? ""); end++) {
    inner.push((lines[end] ?? "").replace(quote, ""));
  }
  return { block: { kind: "quote", blocks: parseLines(inner, depth + 1) }, end };
}

function readList(lines: readonly string[], start: number, depth: number): Read {
  const first = item.exec(lines[start] ?? "");
  const isOrdered = first?.[2] !== undefined;
  const items: string[][] = [];
  let width = 0;
  let end = start;
  for (; end < lines.length; end++) {
    const line = lines[end] ?? "";
    const begun = item.exec(line);
    const indent = /^ */.exec(line)?.[0].length ?? 0;
    if (begun !== null && (items.length === 0 || indent < width)) {
      if ((begun[2] !== undefined) !== isOrdered || rule.test(line)) break;
      width = begun[0].length;
      items.push([line.slice(width)]);
    } else if (isBlank(line)) {
      const next = lines[end + 1] ?? "";
      // After a blank line only what is indented, or another item, belongs to the list.
      if (isBlank(next) || !(next.startsWith("  ") || item.test(next))) break;
      items.at(-1)?.push("");
    } else if (indent >= Math.min(width, 2))
      items.at(-1)?.push(line.slice(Math.min(indent, width)));
    else if (startsBlock(line) || isBlank(lines[end - 1])) break;
    else items.at(-1)?.push(line);
  }
  const number = first?.[2];
  return {
    block: {
      kind: "list",
      start: number === undefined ? undefined : Number(number),
      items: items.map((each) => parseLines(each, depth + 1)),
    },
    end,
  };
}

function readTable(lines: readonly string[], start: number): Read {
  const heads = cellsOf(lines[start] ?? "");
  const rows: Inline[][][] = [];
  let end = start + 2;
  for (; end < lines.length; end++) {
    const line = lines[end] ?? "";
    if (isBlank(line) || !line.includes("|")) break;
    const cells = cellsOf(line);
    rows.push(heads.map((_, column) => cells[column] ?? []));
  }
  return { block: { kind: "table", heads, rows }, end };
}

function cellsOf(line: string): Inline[][] {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => parseInline(cell.trim()));
}

function readParagraph(lines: readonly string[], start: number): Read {
  let end = start + 1;
  while (end < lines.length && !isBlank(lines[end]) && !startsBlock(lines[end] ?? "")) end++;
  const text = lines.slice(start, end).map((line) => line.trim());
  return { block: { kind: "paragraph", inlines: parseInline(text.join("\n")) }, end };
}

function startsBlock(line: string): boolean {
  return [fence, heading, rule, quote, item].some((begin) => begin.test(line));
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === "";
}
