import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { ResponseHash } from "./response-hash.ts";

const sent = 'data: {"content":"a: b"}\n\ndata: [DONE]\n\n';
const expected = createHash("sha256").update(sent).digest("hex");

function hashOf(text: string, pieceLength: number): string {
  const hash = new ResponseHash();
  for (let at = 0; at < text.length; at += pieceLength)
    hash.update(text.slice(at, at + pieceLength));
  return hash.digest();
}

test("keepalives between events are left out, however the text is cut", () => {
  const comment = ": keepalive\n\n";
  const received = comment + sent.replace("\n\n", `\n\n${comment}${comment}`) + comment;
  for (let length = 1; length <= received.length; length++) {
    expect(hashOf(received, length)).toBe(expected);
  }
});

test("a keepalive in the middle of an event is a difference", () => {
  expect(hashOf(sent.replace("a: b", "a: keepalive\n\n: b"), 5)).not.toBe(expected);
});
