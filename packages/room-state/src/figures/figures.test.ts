import { describe, expect, test } from "vitest";
import { BUCKET_MS, BUCKETS, OTHERS } from "./buckets.ts";
import { percentile, withSample } from "./distribution.ts";
import { participantFigures, participantSeries, roomFigures, series, usage } from "./figures.ts";
import { reduce } from "../reduce.ts";
import {
  after,
  complete,
  failure,
  first,
  noonMs,
  progress,
  sent,
  watchedSince,
} from "../room-events.fixture.ts";
import { watchedFrom, watchedUntil } from "../watched.ts";

const alice = { kind: "name", id: "alice" } as const;
const bob = { kind: "name", id: "bob" } as const;
const exactly = (tokens: number) => ({ tokens, worth: "exact" });
/** Of a page that has been open for longer than the figures go back. */
const watched = { state: watchedSince(noonMs - 3_600_000) };

describe("percentiles", () => {
  test("are exact to 3 %", () => {
    let distribution: ReturnType<typeof withSample> = new Map();
    for (let ms = 1; ms <= 10_000; ms++) distribution = withSample(distribution, ms);
    for (const share of [0.05, 0.5, 0.95, 1]) {
      const value = percentile([distribution], share) ?? 0;
      expect(Math.abs(value / (share * 10_000) - 1)).toBeLessThan(0.03);
    }
  });

  test("do not exist without samples", () => {
    expect(percentile([], 0.5)).toBeUndefined();
    expect(percentile([new Map()], 0.5)).toBeUndefined();
  });

  test("of several buckets are of all samples together", () => {
    const few = withSample(new Map(), 10);
    const many = [20, 30, 40].reduce((all, ms) => withSample(all, ms), new Map() as typeof few);
    expect(percentile([few, many], 0.25)).toBeCloseTo(10, 0);
    expect(percentile([few, many], 0.95)).toBeCloseTo(40, 0);
  });
});

describe("tokens", () => {
  test("count when they are generated, and once", () => {
    let state = after([sent("r1"), first("r1"), progress("r1", 30)], watched);
    state = reduce(state, complete("r1", { outputTokens: 50 }), noonMs + BUCKET_MS);
    expect(
      series(state, noonMs + 2 * BUCKET_MS)
        .map((point) => point.tokensPerSecond)
        .slice(-3),
    ).toEqual([3, 2, 0]);
    expect(roomFigures(state, noonMs + BUCKET_MS).outputTokens).toEqual(exactly(50));
  });

  test("that were counted but are not in the usage are not taken back", () => {
    const state = after([
      sent("r1"),
      first("r1"),
      progress("r1", 30),
      complete("r1", { outputTokens: 20 }),
    ]);
    expect(series(state, noonMs).at(-1)?.tokensPerSecond).toBe(30);
    expect(roomFigures(state, noonMs).outputTokens).toEqual(exactly(20));
  });

  test("of a response that does not report them are what was counted, and else unknown", () => {
    const counted = after([sent("r1"), first("r1"), progress("r1", 30), complete("r1", {})]);
    const [row] = usage(counted, noonMs);
    expect(row?.outputTokens).toEqual({ tokens: 30, worth: "estimate" });
    expect(row?.inputTokens).toEqual({ tokens: 0, worth: "unknown" });
    const unseen = after([sent("r1"), complete("r1", {})]);
    expect(usage(unseen, noonMs)[0]?.outputTokens).toEqual({ tokens: 0, worth: "unknown" });
  });
});

test("tokens of a stream that fails are its participant's, as far as they were counted", () => {
  const state = after([sent("r1"), first("r1"), progress("r1", 30), failure("r1"), failure("r2")]);
  const { outputTokens } = participantFigures(state, noonMs).get("ana-llama3") ?? {};
  expect(outputTokens).toEqual({ tokens: 30, worth: "estimate" });
});

describe("the warm share", () => {
  test("is of requests that report it", () => {
    const state = after([
      complete("r1", { inputTokens: 100, cachedInputTokens: 75 }),
      complete("r2", { inputTokens: 900 }),
    ]);
    expect(roomFigures(state, noonMs).warmShare).toBe(0.75);
    expect(participantFigures(state, noonMs).get("ana-llama3")?.warmShare).toBe(0.75);
  });

  test("of messages counts cached tokens as part of the input, like every other", () => {
    const metrics = { inputTokens: 100, cachedInputTokens: 75 };
    const state = after([complete("r1", metrics, { protocol: "messages" })]);
    expect(roomFigures(state, noonMs).warmShare).toBe(0.75);
  });

  test("is unknown when no response reports it", () => {
    const state = after([complete("r1", { inputTokens: 100 })]);
    expect(roomFigures(state, noonMs).warmShare).toBeUndefined();
  });
});

test("figures are of the last 15 minutes, of participants and of all", () => {
  let state = after([
    complete("r1", { ttftMs: 200, outputTokens: 5 }),
    failure("r2", { participantId: "bea-qwen3" }),
    failure("r3", { participantId: null, model: "gpt-9", stage: "routing" }),
  ]);
  expect(roomFigures(state, noonMs)).toMatchObject({
    ...{ requests: 3, errors: 2, outputTokens: exactly(5) },
  });
  expect(Math.round(roomFigures(state, noonMs).ttftP95Ms ?? 0)).toBeCloseTo(200, -1);
  expect([...participantFigures(state, noonMs)].map(([id, one]) => [id, one.errors])).toEqual([
    ["ana-llama3", 0],
    ["bea-qwen3", 1],
    ["", 1],
  ]);
  const laterMs = noonMs + BUCKETS * BUCKET_MS;
  expect(roomFigures(state, laterMs)).toMatchObject({ requests: 0, ttftP50Ms: undefined });
  state = reduce(state, complete("r4"), laterMs);
  expect(state.buckets).toHaveLength(1);
});

test("a series has a point per bucket, also of those in which nothing happened", () => {
  const state = after([complete("r1", { outputTokens: 20 }), failure("r2")], watched);
  const points = series(state, noonMs + 3 * BUCKET_MS + 1);
  expect(points).toHaveLength(BUCKETS);
  expect(points.at(-4)).toMatchObject({
    startMs: noonMs,
    tokensPerSecond: 2,
    requests: 2,
    errors: 1,
  });
  expect(points.at(-1)).toMatchObject({ tokensPerSecond: 0, ttftP50Ms: undefined });
});

test("what was not watched is a gap, not a zero", () => {
  // Opened in the middle of a bucket, and without its hub for the whole of the next but one.
  let state = after([complete("r1", { outputTokens: 20 })], {
    state: watchedSince(noonMs + 5_000),
    nowMs: noonMs + 6_000,
  });
  const lost = watchedUntil(state.watched, noonMs + 2 * BUCKET_MS);
  state = { ...state, watched: watchedFrom(lost, noonMs + 3 * BUCKET_MS) };
  const nowMs = noonMs + 3 * BUCKET_MS + 1_000;
  const points = series(state, nowMs).slice(-5);
  expect(points.map(({ requests }) => requests)).toEqual([undefined, 1, 0, undefined, 0]);
  expect(points.map(({ errors }) => errors)).toEqual([undefined, 0, 0, undefined, 0]);
  expect(points.map((point) => point.tokensPerSecond)).toEqual([undefined, 4, 0, undefined, 0]);
  const own = participantSeries(state, "ana-llama3", nowMs).slice(-5);
  expect(own.map(({ requests }) => requests)).toEqual([undefined, 1, 0, undefined, 0]);
});

test("figures say since when they count, at most 15 minutes", () => {
  const state = watchedSince(noonMs);
  expect(roomFigures(state, noonMs + 60_000).sinceMs).toBe(noonMs);
  const laterMs = noonMs + 3_600_000;
  expect(roomFigures(state, laterMs).sinceMs).toBe(laterMs - BUCKETS * BUCKET_MS);
  const closed = { ...state, watched: watchedUntil(state.watched, noonMs + 1_000) };
  const again = { ...closed, watched: watchedFrom(closed.watched, laterMs) };
  expect(roomFigures(again, laterMs + 5_000).sinceMs).toBe(laterMs);
});

test("the bucket that has only begun is measured over the time it has had", () => {
  const state = after([complete("r1", { outputTokens: 20 })], watched);
  expect(series(state, noonMs + 4_000).at(-1)?.tokensPerSecond).toBe(5);
  expect(series(state, noonMs).at(-1)?.tokensPerSecond).toBe(20);
});

test("a clock that is set back loses the future, not the next 15 minutes", () => {
  let state = after([complete("r1")]);
  state = reduce(state, complete("r2"), noonMs - 1);
  expect(roomFigures(state, noonMs).requests).toBe(2);
  const earlierMs = noonMs - 3_600_000;
  state = reduce(state, complete("r3"), earlierMs);
  expect(roomFigures(state, earlierMs).requests).toBe(1);
});

test("usage is by person and model, most tokens first", () => {
  const state = after([
    complete("r1", { outputTokens: 5, inputTokens: 100 }, { client: alice }),
    complete("r2", { outputTokens: 90 }, { client: bob }),
    complete("r3", { outputTokens: 6 }, { client: alice }),
    complete("r4", { outputTokens: 1 }, { client: alice, model: "qwen3" }),
    failure("r5", { client: { kind: "none", id: "" }, participantId: null }),
  ]);
  expect(
    usage(state, noonMs).map((row) => [
      ...[row.person, row.model, row.requests, row.outputTokens?.tokens],
    ]),
  ).toEqual([
    ["bob", "llama3", 1, 90],
    ["alice", "llama3", 2, 11],
    ["alice", "qwen3", 1, 1],
    ["", "", 1, undefined],
  ]);
  // One of the two does not report its input.
  const inputTokens = { tokens: 100, worth: "estimate" };
  expect(usage(state, noonMs)[1]).toMatchObject({ inputTokens, errors: 0 });
});

test.each([
  ["one bucket", 0],
  ["several buckets", BUCKET_MS / 400],
])("usage of more than a thousand persons in %s has a row for the others", (_where, stepMs) => {
  const events = Array.from({ length: 1_200 }, (_, index) =>
    complete(`r${index}`, { outputTokens: 1 }, { client: { kind: "name", id: `p${index}` } }),
  );
  const state = after(events, { stepMs });
  for (const bucket of state.buckets) expect(bucket.usage.size).toBeLessThanOrEqual(1_001);
  const rows = usage(state, noonMs + 1_200 * stepMs);
  expect(rows).toHaveLength(1_001);
  expect(rows.at(-1)).toMatchObject({ person: OTHERS, requests: 200, outputTokens: exactly(200) });
});

test("a participant has a point per bucket, with its own requests, errors and warm share", () => {
  let state = after(
    [sent("r1"), complete("r1", { inputTokens: 100, cachedInputTokens: 40 })],
    watched,
  );
  state = reduce(state, failure("r2"), noonMs + BUCKET_MS);
  const points = participantSeries(state, "ana-llama3", noonMs + BUCKET_MS);
  expect(points.length).toBe(BUCKETS);
  expect(points.slice(-3)).toEqual([
    { startMs: noonMs - BUCKET_MS, requests: 0, errors: 0, warmShare: undefined },
    { startMs: noonMs, requests: 1, errors: 0, warmShare: 0.4 },
    { startMs: noonMs + BUCKET_MS, requests: 1, errors: 1, warmShare: undefined },
  ]);
  const others = participantSeries(state, "ben", noonMs + BUCKET_MS);
  expect(others.every(({ requests }) => requests === 0)).toBe(true);
});
