import type { Readiness } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { noticeLine, type LineNotice } from "./notice-line.ts";
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
