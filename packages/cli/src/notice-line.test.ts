import { expect, test } from "vitest";
import { noticeLine } from "./notice-line.ts";
import type { ParticipantNotice } from "./services.ts";
import { capture, makeWorld } from "./test-context.fixture.ts";
import { colorsFor } from "./text.ts";

const plain = colorsFor(makeWorld().context, capture());
const ended = {
  kind: "request-ended",
  path: "/chat/completions",
  model: "llama3",
  status: 200,
  durationMs: 1500,
  outcome: "complete",
  reason: undefined,
} as const;

test.each<[ParticipantNotice, string | undefined]>([
  [{ kind: "joined", room: "ABC234", id: "ana", warnings: [] }, "joined room ABC234 as ana"],
  [
    { kind: "joined", room: "ABC234", id: "ana", warnings: ["an id\u001b like a model"] },
    "joined room ABC234 as ana\n  ! an id\ufffd like a model",
  ],
  [{ kind: "connected" }, "connected; Ctrl+C leaves"],
  [
    { kind: "disconnected", reason: "gone", retryInMs: 1500 },
    "disconnected: gone; trying again in 1.5 s",
  ],
  [
    { kind: "provider-down", reason: "refused" },
    "the model server is down: refused; still asking it",
  ],
  [{ kind: "provider-up" }, "the model server is back"],
  [{ kind: "request-started", path: "/chat/completions", model: "llama3" }, undefined],
  [ended, "/chat/completions llama3 complete 200 in 1.5 s"],
  [
    { ...ended, status: undefined, outcome: "failed", reason: "no answer" },
    "/chat/completions llama3 failed in 1.5 s: no answer",
  ],
  [{ kind: "fault", error: new Error("a bug") }, "internal error: a bug"],
  [{ kind: "stopped", code: "closed", reason: "closed here" }, undefined],
  [{ kind: "stopped", code: "replaced", reason: "taken over" }, "stopped: taken over"],
])("%j is told as %j", (notice, text) => {
  const line = noticeLine(notice, 0, plain);
  expect(line?.replace(/^\d\d:\d\d:\d\d /, "")).toBe(text);
});
