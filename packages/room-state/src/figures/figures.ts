import {
  type Bucket,
  BUCKET_MS,
  BUCKETS,
  currentBuckets,
  KEYS_PER_BUCKET,
  OTHERS,
  type ParticipantFigures,
  type PersonUsage,
} from "./buckets.ts";
import { percentile } from "./distribution.ts";
import type { RoomState } from "../state.ts";
import { plusTokens, type TokenSum } from "./token-sum.ts";
import { watchedMs } from "../watched.ts";

/** Of the last 15 minutes, in the order in which requests ended. */
export interface RoomFigures {
  /** epoch ms at which the figures begin */
  readonly sinceMs: number;
  /** ended, whatever the outcome */
  readonly requests: number;
  readonly errors: number;
  /** of requests that ended */
  readonly outputTokens: TokenSum | undefined;
  /** of all streams that run now, together */
  readonly tokensPerSecond: number;
  /** time to the first token; undefined without a request that had one. Exact to 3 % */
  readonly ttftP50Ms: number | undefined;
  readonly ttftP95Ms: number | undefined;
  /** 0 to 1: of prompt tokens, from the cache; undefined when no response reported it */
  readonly warmShare: number | undefined;
}

/** One participant's {@link ParticipantFigures}, with the share of prompt tokens from its cache. */
export interface ParticipantSummaryFigures extends ParticipantFigures {
  /** 0 to 1; undefined when no response reported it */
  readonly warmShare: number | undefined;
}

/** One bucket of a chart. Counts are undefined of a time in which the room was not watched. */
export interface SeriesPoint {
  /** epoch ms */
  readonly startMs: number;
  readonly tokensPerSecond: number | undefined;
  readonly requests: number | undefined;
  readonly errors: number | undefined;
  readonly ttftP50Ms: number | undefined;
  readonly ttftP95Ms: number | undefined;
}

/** One bucket of a chart of one participant. Counts are undefined of a time in which the room was not watched. */
export interface ParticipantPoint {
  /** epoch ms */
  readonly startMs: number;
  readonly requests: number | undefined;
  readonly errors: number | undefined;
  /** 0 to 1; undefined when no response reported it */
  readonly warmShare: number | undefined;
}

/** @param nowMs - epoch ms on the watcher's clock */
export function roomFigures(state: RoomState, nowMs: number): RoomFigures {
  const buckets = currentBuckets(state.buckets, nowMs);
  const total = sum(buckets.flatMap(({ participants }) => [...participants.values()]));
  const ttft = buckets.map((bucket) => bucket.ttft);
  let rate = 0;
  for (const request of state.running.values()) {
    if (request.kind === "streaming") rate += request.tokensPerSecond ?? 0;
  }
  return {
    sinceMs: sinceOf(state, nowMs),
    requests: total.requests,
    errors: total.errors,
    outputTokens: total.outputTokens,
    tokensPerSecond: rate,
    ttftP50Ms: percentile(ttft, 0.5),
    ttftP95Ms: percentile(ttft, 0.95),
    warmShare: warmShareOf(total),
  };
}

/** Of the last 15 minutes, by participant id; `""` is requests that reached none. */
export function participantFigures(
  state: RoomState,
  nowMs: number,
): ReadonlyMap<string, ParticipantSummaryFigures> {
  const byId = new Map<string, ParticipantFigures[]>();
  for (const { participants } of currentBuckets(state.buckets, nowMs)) {
    for (const [id, figures] of participants) {
      const list = byId.get(id);
      if (list === undefined) byId.set(id, [figures]);
      else list.push(figures);
    }
  }
  return new Map(
    [...byId].map(([id, list]) => {
      const total = sum(list);
      return [id, { ...total, warmShare: warmShareOf(total) }];
    }),
  );
}

/** How fast a participant was for its last requests. */
export interface ParticipantSpeed {
  readonly requests: number;
  /** medians; undefined when no response shows one */
  readonly firstTokenMs: number | undefined;
  /** of one request, from its first token on */
  readonly tokensPerSecond: number | undefined;
}

/** A response of fewer tokens, or whose generation was shorter, says little of how fast they are generated. */
const [leastTokens, leastGenerationMs] = [16, 100];

/** Of the requests that ended last, by participant id; how fast one was that sent its response whole is not known. */
export function participantSpeeds({ recent }: RoomState): ReadonlyMap<string, ParticipantSpeed> {
  const metrics = recent.flatMap((request) =>
    request.kind === "done" ? [{ id: request.participantId ?? "", ...request.metrics }] : [],
  );
  const ids = new Set(metrics.map(({ id }) => id));
  return new Map(
    [...ids].map((id) => {
      const own = metrics.filter((one) => one.id === id);
      const rates = own.flatMap(({ ttftMs, durationMs, outputTokens = 0 }) =>
        outputTokens < leastTokens || durationMs - ttftMs < leastGenerationMs
          ? []
          : [((outputTokens - 1) * 1_000) / (durationMs - ttftMs)],
      );
      const firstTokenMs = median(own.map(({ ttftMs }) => ttftMs));
      return [id, { requests: own.length, firstTokenMs, tokensPerSecond: median(rates) }];
    }),
  );
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((one, other) => one - other)[(values.length - 1) >> 1];
}

/**
 * Who used which model in the last 15 minutes, most output tokens first, then most requests: at most 1,000 rows and one
 * of all others.
 */
export function usage(state: RoomState, nowMs: number): PersonUsage[] {
  const rows = new Map<string, PersonUsage>();
  let others: PersonUsage | undefined;
  for (const bucket of currentBuckets(state.buckets, nowMs)) {
    for (const [key, used] of bucket.usage) {
      if (key === OTHERS) others = together(others, used);
      else rows.set(key, together(rows.get(key), used));
    }
  }
  const sorted = [...rows.values()].sort(
    (one, other) =>
      (other.outputTokens?.tokens ?? 0) - (one.outputTokens?.tokens ?? 0) ||
      other.requests - one.requests,
  );
  for (const row of sorted.splice(KEYS_PER_BUCKET)) {
    others = together(others, { ...row, person: OTHERS, model: OTHERS });
  }
  return others === undefined ? sorted : [...sorted, others];
}

/** The last 15 minutes, oldest first, {@link BUCKETS} points; the last one has only begun. */
export function series(state: RoomState, nowMs: number): SeriesPoint[] {
  const byStart = new Map(
    currentBuckets(state.buckets, nowMs).map((bucket) => [bucket.startMs, bucket]),
  );
  return bucketStarts(nowMs).map((startMs) =>
    point(startMs, byStart.get(startMs), watchedOf(state, startMs, nowMs)),
  );
}

/** The same points for one participant; `""` is requests that reached none. */
export function participantSeries(
  state: RoomState,
  participantId: string,
  nowMs: number,
): ParticipantPoint[] {
  const byStart = new Map(
    currentBuckets(state.buckets, nowMs).map(({ startMs, participants }) => [
      startMs,
      participants.get(participantId),
    ]),
  );
  return bucketStarts(nowMs).map((startMs) => {
    const figures = byStart.get(startMs);
    const none = watchedOf(state, startMs, nowMs) === 0 ? undefined : 0;
    return {
      startMs,
      requests: figures?.requests ?? none,
      errors: figures?.errors ?? none,
      warmShare: figures === undefined ? undefined : warmShareOf(figures),
    };
  });
}

function bucketStarts(nowMs: number): number[] {
  const newestMs = Math.floor(nowMs / BUCKET_MS) * BUCKET_MS;
  return Array.from(
    { length: BUCKETS },
    (_, index) => newestMs - (BUCKETS - 1 - index) * BUCKET_MS,
  );
}

function sinceOf({ watched }: RoomState, nowMs: number): number {
  const oldestMs = nowMs - BUCKETS * BUCKET_MS;
  const first = watched.find(({ toMs = nowMs }) => toMs >= oldestMs);
  return Math.min(nowMs, Math.max(first?.fromMs ?? nowMs, oldestMs));
}

/** How much of a bucket was watched. */
function watchedOf({ watched }: RoomState, startMs: number, nowMs: number): number {
  // At least 1 ms, so that a bucket that has just begun counts as watched.
  const endMs = Math.max(startMs + 1, Math.min(startMs + BUCKET_MS, nowMs));
  return watchedMs(watched, startMs, endMs);
}

function point(startMs: number, bucket: Bucket | undefined, lengthMs: number): SeriesPoint {
  const ttft = bucket === undefined ? [] : [bucket.ttft];
  const times = { ttftP50Ms: percentile(ttft, 0.5), ttftP95Ms: percentile(ttft, 0.95) };
  if (bucket === undefined && lengthMs === 0) {
    return {
      startMs,
      tokensPerSecond: undefined,
      requests: undefined,
      errors: undefined,
      ...times,
    };
  }
  const { requests, errors } = sum(bucket?.participants.values() ?? []);
  // At least a second, so that the first token of a new bucket does not look like a peak.
  const tokensPerSecond = ((bucket?.outputTokens ?? 0) * 1_000) / Math.max(1_000, lengthMs);
  return { startMs, tokensPerSecond, requests, errors, ...times };
}

function sum(list: Iterable<ParticipantFigures>): ParticipantFigures {
  const total = { requests: 0, errors: 0, promptTokens: 0, cachedTokens: 0 };
  let outputTokens: TokenSum | undefined;
  for (const figures of list) {
    total.requests += figures.requests;
    total.errors += figures.errors;
    outputTokens = plusTokens(outputTokens, figures.outputTokens);
    total.promptTokens += figures.promptTokens;
    total.cachedTokens += figures.cachedTokens;
  }
  return { ...total, outputTokens };
}

function together(one: PersonUsage | undefined, other: PersonUsage): PersonUsage {
  if (one === undefined) return other;
  return {
    ...one,
    requests: one.requests + other.requests,
    errors: one.errors + other.errors,
    inputTokens: plusTokens(one.inputTokens, other.inputTokens),
    outputTokens: plusTokens(one.outputTokens, other.outputTokens),
  };
}

function warmShareOf({ promptTokens, cachedTokens }: ParticipantFigures): number | undefined {
  return promptTokens === 0 ? undefined : cachedTokens / promptTokens;
}
