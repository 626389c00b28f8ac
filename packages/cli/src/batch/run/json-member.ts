import { parseJson } from "@roomhub/protocol";

/**
 * The text of a member of a JSON object as it was written: numbers keep their digits, members their order. The last of
 * several members with the name counts, as in `JSON.parse`.
 *
 * @param text - a valid JSON object
 * @returns undefined when there is none
 */
export function memberText(text: string, name: string): string | undefined {
  let found: string | undefined;
  let at = text.indexOf("{") + 1;
  for (;;) {
    at = skip(text, at, whitespaceOrComma);
    if (text[at] !== '"') return found;
    const keyEnd = endOfString(text, at);
    const key = parseJson(text.slice(at, keyEnd));
    const start = skip(text, keyEnd, whitespaceOrColon);
    at = endOfValue(text, start);
    if (key === name) found = text.slice(start, at);
  }
}

const whitespaceOrComma = " \t\r\n,";
const whitespaceOrColon = " \t\r\n:";

function skip(text: string, from: number, characters: string): number {
  let at = from;
  while (at < text.length && characters.includes(text[at] ?? "")) at++;
  return at;
}

/** @param start - of its first quote */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function endOfValue(text: string, start: number): number {
  if (text[start] === '"') return endOfString(text, start);
  if (text[start] !== "{" && text[start] !== "[") {
    let at = start;
    while (at < text.length && !" \t\r\n,}]".includes(text[at] ?? "")) at++;
    return at;
  }
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    else if (character === "{" || character === "[") depth++;
    else if ((character === "}" || character === "]") && --depth === 0) return at + 1;
  }
  return text.length;
}
