import { describe, expect, test } from "vitest";
import { Pace } from "./pace.ts";
import { type PlacementCandidate, type PlacementQuery, place } from "./placement.ts";

interface Named extends PlacementCandidate {
  id: string;
}

/** @param msPerKilobyte - undefined for one that was never measured */
function candidate(
  id: string,
  msPerKilobyte: number | undefined,
  fields: Partial<PlacementCandidate> = {},
): Named {
  const pace = new Pace();
  if (msPerKilobyte !== undefined) {
    for (const kilobytes of [1, 4]) {
      pace.noteFirst(
        "stream",
        { promptBytes: kilobytes * 1_000, coldBytes: kilobytes * 1_000 },
        kilobytes * msPerKilobyte,
        0,
      );
    }
    pace.noteSlot(2_000);
  }
  const rest = { active: 0, limit: 1, startedMs: [], awaited: 0, warmBytes: 0, mustLoad: false };
  return { id, isFree: true, mayBeTooSmall: false, ...rest, pace, ...fields };
}

const busySince = (startedMs: number) => ({ isFree: false, active: 1, startedMs: [startedMs] });

function placed(candidates: Named[], query: Partial<PlacementQuery> = {}): string {
  const all = { promptBytes: 10_000, form: "stream", nowMs: 0, holdUntilMs: undefined } as const;
  const placement = place(candidates, { ...all, ...query });
  return placement.kind === "full" ? "full" : `${placement.kind} ${placement.candidate.id}`;
}

test.each([
  ["the faster of two", [candidate("slow", 200), candidate("fast", 50)], "take fast"],
  ["the first of two equals", [candidate("a", 100), candidate("b", 100)], "take a"],
  [
    "the first of two that were not measured",
    [candidate("a", undefined), candidate("b", undefined)],
    "take a",
  ],
  [
    "one that was not measured, before one that was",
    [candidate("a", 50), candidate("new", undefined)],
    "take new",
  ],
  [
    "the warm one of two that were not measured",
    [candidate("a", undefined), candidate("warm", undefined, { warmBytes: 600 })],
    "take warm",
  ],
  [
    "the less crowded of two that were not measured",
    [candidate("a", undefined, { active: 1, limit: 4 }), candidate("b", undefined, { limit: 4 })],
    "take b",
  ],
  [
    "the one that holds the prompt warm, before a new one",
    [candidate("new", undefined), candidate("warm", 100, { warmBytes: 9_000 })],
    "take warm",
  ],
  [
    "a fast one, before a slow one that is warm in part",
    [candidate("slow", 400, { warmBytes: 5_000 }), candidate("fast", 50)],
    "take fast",
  ],
  [
    "the less crowded of two equals",
    [candidate("a", 100, { active: 1, limit: 4 }), candidate("b", 100, { limit: 4 })],
    "take b",
  ],
  [
    "a loaded one, before a faster one that must load",
    [candidate("cold", 10, { mustLoad: true }), candidate("loaded", 100)],
    "take loaded",
  ],
  ["nothing while all are busy", [candidate("a", 100, busySince(0))], "full"],
])("a request takes %s", (_what, candidates, expected) => {
  expect(placed(candidates)).toBe(expected);
});

test("a participant whose last request had to go elsewhere comes last for a while", () => {
  const broken = candidate("broken", undefined);
  const slow = candidate("slow", 900);
  broken.pace.noteFailure(0);
  expect(placed([broken, slow], { nowMs: 4_999 })).toBe("take slow");
  expect(placed([broken, slow], { nowMs: 5_000 })).toBe("take broken");
  broken.pace.noteFailure(5_000);
  expect(placed([broken, slow], { nowMs: 14_999 })).toBe("take slow");
  expect(placed([broken], { nowMs: 6_000 })).toBe("take broken");
});

describe("a request whose model only a busy participant has loaded", () => {
  const loaded = (startedMs: number) => candidate("loaded", 100, busySince(startedMs));
  const loadsIn = (ms: number) => {
    const idle = candidate("idle", 100, { mustLoad: true });
    idle.pace.noteLoad(0, ms);
    return idle;
  };

  test("waits for it when that is sooner than loading", () => {
    expect(placed([loaded(-1_500), loadsIn(8_000)])).toBe("hold loaded");
  });

  test("takes an idle one that loads it sooner", () => {
    expect(placed([loaded(0), loadsIn(1_000)])).toBe("take idle");
  });
});

describe("a request whose prompt is warm at a busy participant", () => {
  // Its slot takes 2,000 ms, so it is free 500 ms from now; the rest of the prompt takes 100 ms.
  const warm = () => candidate("warm", 100, { ...busySince(-1_500), warmBytes: 9_000 });

  test("waits for it while that is sooner than to compute the prompt anew", () => {
    expect(placed([warm(), candidate("idle", 100)])).toBe("hold warm");
  });

  test("takes an idle one that is fast enough", () => {
    expect(placed([warm(), candidate("idle", 50)])).toBe("take idle");
  });

  test("takes an idle one when others wait for the warm one already", () => {
    const awaited = candidate("warm", 100, {
      ...busySince(-1_500),
      warmBytes: 9_000,
      awaited: 1,
    });
    expect(placed([awaited, candidate("idle", 100)])).toBe("take idle");
  });

  test("takes an idle one when a request failed at the warm one lately", () => {
    const failed = warm();
    expect(placed([failed, candidate("idle", 100)])).toBe("hold warm");
    failed.pace.noteFailure(0);
    expect(placed([failed, candidate("idle", 100)])).toBe("take idle");
  });

  test("takes an idle one that was not measured", () => {
    const unknown = candidate("idle", undefined);
    expect(placed([warm(), unknown])).toBe("hold warm");
    expect(
      placed([candidate("warm", undefined, { ...busySince(0), warmBytes: 9_000 }), unknown]),
    ).toBe("take idle");
  });

  test("waits no longer than what it may gain by it", () => {
    const placement = place([warm(), candidate("idle", 100)], {
      promptBytes: 10_000,
      form: "stream",
      nowMs: 0,
      holdUntilMs: undefined,
    });
    expect(placement).toMatchObject({ kind: "hold", untilMs: 800 });
    expect(placed([warm(), candidate("idle", 100)], { holdUntilMs: 800, nowMs: 800 })).toBe(
      "take idle",
    );
  });
});
