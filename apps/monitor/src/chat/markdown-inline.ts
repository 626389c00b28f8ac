/** A part of a line. */
export type Inline =
  | string
  | { kind: "code"; text: string }
  | { kind: "strong" | "emphasis" | "deleted"; inlines: Inline[] }
  /** `url` is http or https, as written */
  | { kind: "link"; url: string; inlines: Inline[] }
  | { kind: "break" };

type Marked = Exclude<Inline, string>;

const marks: [mark: string, kind: "strong" | "emphasis" | "deleted"][] = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "deleted"],
  ["*", "emphasis"],
  ["_", "emphasis"],
];

const longestUrl = 2_000;
/** Emphasis within emphasis; what is deeper is text. */
const mostDepth = 4;

/** Emphasis, code, links and line breaks of a paragraph. A mark without its other end is text. */
export function parseInline(text: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  /** Marks that do not occur any more: looking for each of them once keeps long texts cheap. */
  const absent = new Set<string>();
  const indexOf = (mark: string, from: number) => {
    const at = absent.has(mark) ? -1 : text.indexOf(mark, from);
    if (at === -1) absent.add(mark);
    return at;
  };
  let plain = "";
  let index = 0;
  while (index < text.length) {
    const read = readAt(text, index, depth, indexOf);
    if (typeof read.inline === "string") plain += read.inline;
    else {
      if (plain !== "") found.push(plain);
      plain = "";
      found.push(read.inline);
    }
    index = read.end;
  }
  if (plain !== "") found.push(plain);
  return found;
}

interface Read {
  inline: string | Marked;
  end: number;
}

type IndexOf = (mark: string, from: number) => number;

function readAt(text: string, index: number, depth: number, indexOf: IndexOf): Read {
  const character = text[index] ?? "";
  switch (character) {
    case "\n":
      return { inline: { kind: "break" }, end: index + 1 };
    case "\\": {
      const next = text[index + 1] ?? "";
      if (/[!-/:-@[-`{-~]/.test(next)) return { inline: next, end: index + 2 };
      break;
    }
    case "`":
      return readCode(text, index, indexOf);
    case "[":
      return readLink(text, index, depth, indexOf) ?? { inline: "[", end: index + 1 };
    case "h": {
      const url = /^https?:\/\/[^\s<>"'`|\\^{}]+/.exec(text.slice(index, index + longestUrl))?.[0];
      const isWord = /\w/.test(text[index - 1] ?? " ");
      if (url !== undefined && !isWord) return bareLink(url, index);
      break;
    }
    case "*":
    case "_":
    case "~":
      if (depth < mostDepth) return readMarked(text, index, depth, indexOf);
  }
  return { inline: character, end: index + 1 };
}

function readCode(text: string, index: number, indexOf: IndexOf): Read {
  const ticks = /^`+/.exec(text.slice(index, index + 100))?.[0] ?? "`";
  const start = index + ticks.length;
  const end = indexOf(ticks, start);
  if (end === -1) return { inline: ticks, end: start };
  const code = text.slice(start, end).replaceAll("\n", " ");
  // A blank at both ends is there for code that begins or ends with a tick.
  const isPadded = code.length > 2 && code.startsWith(" ") && code.endsWith(" ");
  const inline: Marked = { kind: "code", text: isPadded ? code.slice(1, -1) : code };
  return { inline, end: end + ticks.length };
}

function readLink(text: string, index: number, depth: number, indexOf: IndexOf): Read | undefined {
  const middle = indexOf("](", index);
  if (middle === -1 || depth >= mostDepth) return undefined;
  const end = indexOf(")", middle);
  if (end === -1 || end - middle > longestUrl) return undefined;
  const url = text.slice(middle + 2, end).trim();
  const label = text.slice(index + 1, middle);
  // Any other scheme could run a script.
  if (!/^https?:\/\/\S+$/i.test(url) || label.includes("[")) return undefined;
  return { inline: { kind: "link", url, inlines: parseInline(label, mostDepth) }, end: end + 1 };
}

/** A URL that stands in the text; punctuation after it ends the sentence. */
function bareLink(found: string, index: number): Read {
  let url = found.replace(/[.,:;!?*_~]+$/, "");
  if (url.endsWith(")") && !url.includes("(")) url = url.slice(0, -1);
  return { inline: { kind: "link", url, inlines: [url] }, end: index + url.length };
}

function readMarked(text: string, index: number, depth: number, indexOf: IndexOf): Read {
  for (const [mark, kind] of marks) {
    if (!text.startsWith(mark, index)) continue;
    const start = index + mark.length;
    const before = text[index - 1] ?? " ";
    // `snake_case` is a word, and `2 * 3` a product.
    const opens = /\S/.test(text[start] ?? " ") && !(mark.startsWith("_") && /\w/.test(before));
    const end = opens ? closingOf(text, mark, start, indexOf) : -1;
    if (end === -1) return { inline: mark, end: start };
    const inlines = parseInline(text.slice(start, end), depth + 1);
    return { inline: { kind, inlines }, end: end + mark.length };
  }
  return { inline: text[index] ?? "", end: index + 1 };
}

/** Where a mark ends, or -1: not after a blank, not within a word for `_`, and not in a doubled mark. */
function closingOf(text: string, mark: string, start: number, indexOf: IndexOf): number {
  const character = mark.charAt(0);
  for (let end = indexOf(mark, start + 1); end !== -1;) {
    const runEnd = end + (/^[*_~]+/.exec(text.slice(end, end + 10))?.[0].length ?? 1);
    const isDoubled = mark.length === 1 && runEnd - end === 2 && text[end + 1] === character;
    const isWord = character === "_" && /\w/.test(text[end + mark.length] ?? " ");
    if (/\S/.test(text[end - 1] ?? " ") && !isDoubled && !isWord) return end;
    end = indexOf(mark, runEnd);
  }
  return -1;
}
