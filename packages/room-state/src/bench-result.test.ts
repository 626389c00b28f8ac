import { assert, json, property } from "fast-check";
import { expect, test } from "vitest";
import {
  type BenchResult,
  canaryNames,
  firstTokenMs,
  generationOf,
  readBenchResult,
} from "./bench-result.ts";

const saved: BenchResult = {
  ...{ version: 1, at: "2026-01-02T03:04:05.000Z", hubUrl: "http://hub", room: "ABC234" },
  hubRoundTripMs: 1,
  participants: [
    {
      ...{ id: "ana", nickname: "Ana", model: "qwen3", context: 65_536 },
      firstToken: [
        { promptBytes: 1024, promptTokens: 411, ms: 180 },
        { promptBytes: 16_384, promptTokens: null, ms: 2_630 },
      ],
      promptTokensPerSecond: 2_489.4,
      generation: [
        { requests: 1, tokensPerSecond: 61.2 },
        { requests: 4, tokensPerSecond: null },
      ],
      canaries: { tools: "passed", vision: "refused" },
      errors: ["this model does not take images"],
    },
    {
      ...{ id: "ben", nickname: "Ben", model: "qwen3", context: null, skipped: "offline" },
      ...{ firstToken: [], promptTokensPerSecond: null, generation: [], canaries: {}, errors: [] },
    },
  ],
};

test("a saved result is read as it was written", () => {
  expect(readBenchResult(JSON.stringify(saved))).toEqual(saved);
});

test("another version, and what is no result, is not read", () => {
  for (const text of ["", "[]", "{}", '{"version":1}', JSON.stringify({ ...saved, version: 2 })]) {
    expect(readBenchResult(text)).toBeUndefined();
  }
});

test("whatever a file has under a result's names, what is read has the types of a result", () => {
  assert(
    property(json(), json(), (one, other) => {
      const strange = `{"version":1,"at":${one},"participants":[${one},{"id":${other},
        "firstToken":[${one},{"ms":${other}}],"generation":${one},"canaries":${other},"errors":[${one}]}]}`;
      for (const participant of readBenchResult(strange)?.participants ?? []) {
        expect(typeof participant.id).toBe("string");
        expect(participant.firstToken.every(({ ms }) => Number.isFinite(ms))).toBe(true);
        expect(participant.errors.every((error) => typeof error === "string")).toBe(true);
        for (const name of canaryNames) {
          expect(["passed", "failed", "refused", undefined]).toContain(participant.canaries[name]);
        }
      }
    }),
  );
});

test("figures are found by the prompt's bytes and by how many ran", () => {
  const [ana] = saved.participants;
  if (ana === undefined) throw new Error("nothing was saved");
  expect([firstTokenMs(ana, 1024), firstTokenMs(ana, 4096)]).toEqual([180, null]);
  expect(generationOf(ana, "alone")?.tokensPerSecond).toBe(61.2);
  expect(generationOf(ana, "together")?.requests).toBe(4);
});
