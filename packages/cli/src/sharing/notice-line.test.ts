import type { Readiness } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { type LineNotice, noticeLine, trackOutage } from "./notice-line.ts";
import { capture, makeWorld } from "../test-context.fixture.ts";
import { colorsFor } from "../terminal/text.ts";

const plain = colorsFor(makeWorld().context, capture());

const verdict = (readiness: Readiness, problem: string | undefined): LineNotice => ({
  ...{ kind: "provider-readiness", readiness, problem, since: 0 },
});

test.each<[LineNotice, string]>([
  [
    { kind: "disconnected", reason: "gone\u001b", retryInMs: 1500 },
    "disconnected: gone\ufffd; reconnecting, next attempt in 1.5 s",
  ],
  [verdict("ready", undefined), "the model server is ready again"],
  [
    verdict("loading", "is loading its model"),
    "the model server is loading its model; requests wait",
  ],
  [
    verdict("needs-credentials", "requires credentials"),
    'the model server requires credentials; join with --header-env "Authorization=VARIABLE"',
  ],
  [verdict("down", "refused\u001b"), "the model server is down: refused\ufffd; retrying"],
  [
    verdict("wrong-model", "now serves qwen"),
    "the model server now serves qwen; no requests arrive until it serves the shared model again",
  ],
  [
    { kind: "model-changed", from: "llama3", to: "qwen" },
    "the model server now serves qwen; sharing it instead of llama3",
  ],
  [
    { kind: "budget", problem: "shares from 18:00 to 23:00\u001b" },
    "no requests are served: the participant shares from 18:00 to 23:00\ufffd",
  ],
  [{ kind: "budget", problem: undefined }, "within the budget again: requests are served"],
  [{ kind: "fault", error: new Error("a bug") }, "internal error: a bug"],
])("%j is printed as %j", (notice, text) => {
  expect(noticeLine(notice, 0, plain).replace(/^\d\d:\d\d:\d\d {2}/, "")).toBe(text);
});

test("an outage of several begins once and ends with the last, however often each is reported", () => {
  const outage = trackOutage();
  expect(outage.began("a", 1000)).toBe(true);
  expect(outage.began("b", 1500)).toBe(false);
  expect(outage.began("a", 2000)).toBe(false);
  expect(outage.ended("a", 3000)).toBeUndefined();
  expect(outage.ended("b", 4000)).toBe(3000);
  expect(outage.began("b", 9000)).toBe(true);
});

test("a participant that was not affected does not end the outage", () => {
  expect(trackOutage().ended("a", 5)).toBeUndefined();
});
