import {
  array,
  assert,
  constantFrom,
  integer,
  oneof,
  property,
  record,
  constant,
} from "fast-check";
import { expect, test } from "vitest";
import { BUCKETS, KEYS_PER_BUCKET } from "./figures/buckets.ts";
import { RECENT_REQUESTS } from "./ended-requests.ts";
import { participantFigures, roomFigures, series, usage } from "./figures/figures.ts";
import { LOG_LINES } from "./log.ts";
import { reduce } from "./reduce.ts";
import { resync } from "./resync.ts";
import {
  after,
  aParticipant,
  complete,
  failure,
  first,
  joined,
  left,
  listed,
  noonMs,
  offline,
  progress,
  queued,
  sent,
  updated,
} from "./room-events.fixture.ts";
import type { RoomEvent } from "./reduce.ts";
import { slotsOf } from "./slots.ts";
import { initialState, type RoomState } from "./state.ts";

const requestId = constantFrom("r1", "r2", "r3", "r4", "r5");
const participantId = constantFrom("ana", "bea", "cat");
const tokens = integer({ min: 0, max: 100 });

/** Events in any order, about requests and participants that exist or not. */
const event: ReturnType<typeof constant<RoomEvent>> = oneof(
  participantId.map((id) => joined({ id })),
  participantId.map((id) => updated({ id, status: "offline" })),
  participantId.map((id) => left(id)),
  participantId.map((id) => offline(id)),
  record({ requestId, place: integer({ min: 1, max: 6 }) }).map((one) =>
    queued(one.requestId, one.place),
  ),
  record({ requestId, participantId, attempt: integer({ min: 1, max: 3 }) }).map((one) =>
    sent(one.requestId, one),
  ),
  requestId.map((id) => first(id)),
  record({ requestId, tokens }).map((one) => progress(one.requestId, one.tokens)),
  record({ requestId, participantId, tokens }).map((one) =>
    complete(
      one.requestId,
      { outputTokens: one.tokens, inputTokens: one.tokens, cachedInputTokens: 50 },
      one,
    ),
  ),
  record({ requestId, code: constantFrom("client_disconnected", "provider_error") }).map((one) =>
    failure(one.requestId, one),
  ),
  constant({ type: "later.invention", requestId: "r1" } as unknown as RoomEvent),
);

const steps = array(record({ event, waitMs: integer({ min: -2_000, max: 60_000 }) }), {
  maxLength: 60,
});

/** Requests that were sent or queued and have no end, from the events alone. */
function ledger(events: readonly RoomEvent[]): string[] {
  const open = new Set<string>();
  for (const one of events) {
    if (one.type === "llm.request" || one.type === "request.queued") open.add(one.requestId);
    if (one.type === "llm.complete" || one.type === "llm.error") open.delete(one.requestId);
  }
  return [...open].sort();
}

/** Every number in a value, wherever it is. */
function numbersIn(value: unknown): number[] {
  if (typeof value === "number") return [value];
  if (value instanceof Map) return [...value.values()].flatMap(numbersIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(numbersIn);
}

function expectSound(state: RoomState, nowMs: number): void {
  const views = [
    roomFigures(state, nowMs),
    participantFigures(state, nowMs),
    usage(state, nowMs),
    series(state, nowMs),
    slotsOf(state),
  ];
  for (const value of numbersIn([state, views])) expect(value).toBeGreaterThanOrEqual(0);
  expect(roomFigures(state, nowMs).warmShare ?? 0).toBeLessThanOrEqual(1);
  expect(state.recent.length).toBeLessThanOrEqual(RECENT_REQUESTS);
  expect(state.log.length).toBeLessThanOrEqual(LOG_LINES);
  expect(state.buckets.length).toBeLessThanOrEqual(BUCKETS);
  const starts = state.buckets.map(({ startMs }) => startMs);
  expect(starts).toEqual([...new Set(starts)].sort((one, other) => one - other));
}

test("after any events the counts are sound, and what runs is what the ledger has open", () => {
  assert(
    property(steps, (all) => {
      let state = initialState();
      let nowMs = noonMs;
      for (const { event: next, waitMs } of all) {
        nowMs += waitMs;
        state = reduce(state, next, nowMs);
        expectSound(state, nowMs);
      }
      const seen = all.map((step) => step.event);
      expect([...state.running.keys()].sort()).toEqual(ledger(seen));
      const active = [...slotsOf(state).values()].reduce((sum, slots) => sum + slots.active, 0);
      expect(active).toBeLessThanOrEqual(state.running.size);
    }),
    { numRuns: 100 },
  );
});

test("after any events the places in the queue are different ones from 1 on, as long as each is announced within it", () => {
  const inQueue = array(
    record({
      requestId,
      isLeaving: constantFrom(true, false),
      share: integer({ min: 0, max: 99 }),
    }),
    {
      maxLength: 40,
    },
  );
  assert(
    property(inQueue, (all) => {
      let state = initialState();
      const places = () =>
        [...state.running.values()].flatMap((one) => (one.kind === "queued" ? [one.place] : []));
      for (const { requestId: id, isLeaving, share } of all) {
        const others = places().length - (state.running.has(id) ? 1 : 0);
        const place = 1 + (share % (others + 1));
        state = reduce(state, isLeaving ? failure(id) : queued(id, place), noonMs);
        const sorted = places().sort((one, other) => one - other);
        expect(sorted).toEqual(sorted.map((_, index) => index + 1));
      }
    }),
    { numRuns: 200 },
  );
});

test("after any events, reading the lists twice is the same as once", () => {
  const lists = record({
    participants: array(participantId, { maxLength: 3 }).map((ids) =>
      [...new Set(ids)].map((id) => aParticipant({ id })),
    ),
    requests: array(
      record({
        requestId,
        state: constantFrom("queued", "running", "streaming"),
        outputTokens: tokens,
      }),
      { maxLength: 5 },
    ).map((all) => all.map((one) => listed(one.requestId, one))),
  });
  assert(
    property(steps, lists, steps, (before, read, afterwards) => {
      const known = after(before.map((step) => step.event));
      const once = resync(known, read, noonMs + 1_000);
      expect(resync(once, read, noonMs + 2_000)).toEqual(once);
      const state = after(
        afterwards.map((step) => step.event),
        { state: once },
      );
      expectSound(state, noonMs);
    }),
    { numRuns: 200 },
  );
});

test("the state of a busy room stays within its limits for days", () => {
  let state = initialState();
  const dayMs = 86_400_000;
  const count = 20_000;
  for (let index = 0; index < count; index++) {
    const nowMs = noonMs + Math.floor((index * 3 * dayMs) / count);
    const client = { kind: "name", id: `p${index}` } as const;
    state = reduce(state, sent(`r${index}`, { client }), nowMs);
    state = reduce(
      state,
      index % 2 === 0 ? complete(`r${index}`, {}, { client }) : failure(`r${index}`),
      nowMs,
    );
  }
  expect(state.recent).toHaveLength(RECENT_REQUESTS);
  expect(state.log).toHaveLength(LOG_LINES);
  expect(state.log.at(-1)?.sequence).toBe(state.logged);
  expect(state.running.size).toBe(0);
  expect(state.buckets.length).toBeLessThanOrEqual(BUCKETS);
  for (const { usage: used } of state.buckets)
    expect(used.size).toBeLessThanOrEqual(KEYS_PER_BUCKET + 1);
});
