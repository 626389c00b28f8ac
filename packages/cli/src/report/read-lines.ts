import { createReadStream } from "node:fs";

/** @returns lines without their ends; null for one of more than {@link maxCharacters} */
export type ReadLines = (path: string) => AsyncIterable<string | null>;

const maxCharacters = 4 * 1024 * 1024;

/**
 * The lines of a file, a few at a time.
 *
 * @throws NodeJS.ErrnoException
 */
export const readLines: ReadLines = async function* (path) {
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
};
