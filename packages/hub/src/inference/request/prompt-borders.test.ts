import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { everyCut } from "../stream/cuts.fixture.ts";
import { RequestBodyReader } from "./request-head.ts";

function read(chunks: readonly Buffer[]) {
  const reader = new RequestBodyReader(64, true, crc32);
  for (const chunk of chunks) reader.push(chunk);
  return reader.end();
}

const turn = (text: string) => ({ role: "user", content: text.repeat(400) });
const body = (field: string, value: unknown, rest: object = {}) =>
  Buffer.from(JSON.stringify({ model: "m", ...rest, [field]: value, stream: true }));
const bordersOf = (bytes: Buffer) => read([bytes]).promptBorders;

describe("the borders of a prompt", () => {
  test("lie at 1 KiB, then each half as far again, inside the prompt", () => {
    const { promptBorders, promptBytes } = read([body("messages", [turn("abcdef")])]);
    expect(promptBytes).toBe(JSON.stringify([turn("abcdef")]).length);
    expect(promptBorders.map(({ bytes }) => bytes)).toEqual([1_024, 1_536, 2_304]);
    expect(read([body("messages", ["short"])]).promptBorders).toEqual([]);
  });

  test("of a chat that grew begin with those it had", () => {
    const before = bordersOf(body("messages", [turn("abcd"), turn("b")]));
    const after = bordersOf(body("messages", [turn("abcd"), turn("b"), turn("c")]));
    expect(after.length).toBeGreaterThan(before.length);
    expect(after.slice(0, before.length)).toEqual(before);
  });

  test("do not depend on the other fields, only on the bytes of messages, input or prompt", () => {
    const messages = [turn("abcd")];
    const borders = bordersOf(body("messages", messages));
    expect(bordersOf(body("messages", messages, { temperature: 1, user: "x" }))).toEqual(borders);
    expect(bordersOf(body("input", messages))).toEqual(borders);
    expect(bordersOf(body("prompt", messages))).toEqual(borders);
    expect(bordersOf(body("tools", messages))).toEqual([]);
    expect(bordersOf(body("messages", [turn("b")]))).not.toEqual(borders);
  });

  test("are the same from every cut", () => {
    const bytes = Buffer.from(
      JSON.stringify({ x: 1, messages: ["a".repeat(1_600)], stop: null, model: "m" }),
    );
    const { promptBorders, promptBytes } = read([bytes]);
    expect(promptBorders).toHaveLength(2);
    for (const chunks of everyCut(bytes)) {
      expect(read(chunks)).toMatchObject({ promptBorders, promptBytes });
    }
  });

  test("end at 16 MiB, however long the prompt is", () => {
    const borders = bordersOf(body("messages", ["a".repeat(20 * 1024 * 1024)]));
    expect(borders).toHaveLength(24);
    expect(borders.at(-1)?.bytes).toBeLessThan(16 * 1024 * 1024);
  });
});
