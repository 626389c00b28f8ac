import { expect, test } from "vitest";
import { noticeLine, type SaidNotice } from "./notice-line.ts";
import { capture, makeWorld } from "./test-context.fixture.ts";
import { colorsFor } from "./text.ts";

const plain = colorsFor(makeWorld().context, capture());

test.each<[SaidNotice, string]>([
  [
    { kind: "disconnected", reason: "gone\u001b", retryInMs: 1500 },
    "disconnected: gone\ufffd; trying until it is back, next in 1.5 s",
  ],
  [
    { kind: "provider-down", reason: "refused" },
    "the model server is down, still asking it: refused",
  ],
  [{ kind: "provider-up" }, "the model server is back"],
  [{ kind: "fault", error: new Error("a bug") }, "internal error: a bug"],
])("%j is told as %j", (notice, text) => {
  expect(noticeLine(notice, 0, plain).replace(/^\d\d:\d\d:\d\d {2}/, "")).toBe(text);
});
