import { createReadStream } from "node:fs";

const maxCharacters = 4 * 1024 * 1024;

/**
 * The lines of a file that may be longer than memory.
 *
 * @returns lines without their ends; null for one of more than {@link maxCharacters}
 * @throws NodeJS.ErrnoException
 */
export async function* readLines(path: string): AsyncIterable<string | null> {
  let rest = "";
  let isTooLong = false;
  for await (const chunk of createReadStream(path, { encoding: "utf8" })) {
    const parts = (rest + String(chunk)).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) {
      yield isTooLong || line.length > maxCharacters ? null : line;
      isTooLong = false;
    }
    if (rest.length > maxCharacters) {
      isTooLong = true;
      rest = "";
    }
  }
  if (isTooLong) yield null;
  else if (rest !== "") yield rest;
}
