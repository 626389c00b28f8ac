import { createSseReader } from "@roomhub/protocol";
import { array, assert, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import { firstEventEnd, lastEventEnd } from "./event-boundary.ts";

test.each([
  ["", 0],
  ["data: 1", 0],
  ["data: 1\n", 0],
  ["data: 1\r\n", 0],
  ["data: 1\n\n", 9],
  ["data: 1\r\n\r\n", 11],
  ["data: 1\r\r", 9],
  ["data: 1\n\r\n", 10],
  ["data: 1\r\r\n", 10],
  ["data: 1\r\n\r", 0],
  ["data: 1\n\ndata: 2", 9],
  ["data: 1\r\n\r\ndata: 2\r\n", 11],
  ["data: 1\n\ndata: 2\n\n", 18],
  ["\n\n", 2],
])("in %j the last whole event ends at %i", (text, end) => {
  expect(lastEventEnd(Buffer.from(text), 0)).toBe(end);
});

test("bytes known to hold no end are not looked at again", () => {
  const bytes = Buffer.from("data: 1\n\ndata");
  expect(lastEventEnd(bytes, 9)).toBe(0);
  expect(lastEventEnd(bytes, 8)).toBe(9);
});

test.each([
  ["", 0],
  ["data: 1", 0],
  ["data: 1\n", 0],
  ["data: 1\n\ndata: 2\n\n", 9],
  ["data: 1\r\n\r\ndata: 2\r\n\r\n", 11],
  ["data: 1\r\rdata: 2", 9],
  ["data: 1\r\ndata: 2\r\n\n\r\n", 19],
  ["\n\ndata: 2\n\n", 2],
])("in %j the first event ends at %i", (text, end) => {
  expect(firstEventEnd(Buffer.from(text))).toBe(end);
});

test.each([
  ["last", (bytes: Buffer) => lastEventEnd(bytes, 0)],
  ["first", firstEventEnd],
])("a parser is between two events at the %s end, whatever the lines", (_which, endOf) => {
  const piece = constantFrom("data: 1", "event: x", ": c", "id: 7", "\n", "\r\n", "\r", "\n\n");
  assert(
    property(array(piece), (pieces) => {
      const bytes = Buffer.from(pieces.join(""));
      const end = endOf(bytes);
      const read = (text: string) => {
        const found: string[] = [];
        createSseReader(({ data }) => found.push(data)).feed(text);
        return found;
      };
      const [before, after] = [bytes.toString("utf8", 0, end), bytes.toString("utf8", end)];
      expect([...read(before), ...read(`${after}\n\n`)]).toEqual(read(`${before}${after}\n\n`));
    }),
  );
});
