import { expect, test } from "vitest";
import { ErrorField } from "./chat-stream.ts";

function translated(pieces: string[]): string {
  const field = new ErrorField();
  return pieces.map((piece) => field.translate(piece)).join("");
}

const asEvent = "event: error\ndata: {}\n\n";

test.each(["\n", "\r\n", "\r"])(
  "the field becomes an event wherever a line begins after %j",
  (end) => {
    const text = `error: {}${end}${end}data: 1${end}error: {}${end}error: {}${end}`;
    const expected = text.replaceAll("error:", "event: error\ndata:");
    expect(translated([text])).toBe(expected);
    for (let cut = 0; cut <= text.length; cut++) {
      expect(translated([text.slice(0, cut), text.slice(cut)])).toBe(expected);
    }
    expect(translated(text.split(""))).toBe(expected);
  },
);

test.each([
  'data: {"content":"error: no"}\n\n',
  "data: an error: {}\n\n",
  'data: "\u2028error: {}"\n\n',
  "errors: 1\nerr\nevent: error\ndata: x\n\n",
])("%j is passed on as it is, cut at every character", (text) => {
  expect(translated([text])).toBe(text);
  expect(translated(text.split(""))).toBe(text);
  for (let cut = 0; cut <= text.length; cut++) {
    expect(translated([text.slice(0, cut), text.slice(cut)])).toBe(text);
  }
});

test("nothing is kept back but what may be the beginning of the name", () => {
  const field = new ErrorField();
  expect(field.translate("data: 1\n\n")).toBe("data: 1\n\n");
  expect(field.translate("data: erro")).toBe("data: erro");
  expect(field.translate("r\n\nerro")).toBe("r\n\n");
  expect(field.translate("r: {}\n\n")).toBe(asEvent);
});
