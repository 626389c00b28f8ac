import { type Distribution, withSample } from "./distribution.ts";
import { plusTokens, type TokenSum } from "./token-sum.ts";

/** Length of a bucket. */
export const BUCKET_MS = 10_000;
/** 15 minutes. */
export const BUCKETS = 90;
/** Entries of one kind in a bucket; further ones are counted together as {@link OTHERS}. */
export const KEYS_PER_BUCKET = 1_000;
/** Stands for persons, models and participants beyond {@link KEYS_PER_BUCKET}; no id may begin with a parenthesis. */
export const OTHERS = "(others)";

/** Counts of one participant. */
export interface ParticipantFigures {
  /** ended, whatever the outcome */
  readonly requests: number;
  /** of these, failed; a request that its client cancelled is none */
  readonly errors: number;
  readonly outputTokens: TokenSum | undefined;
  /** of prompts whose response reports how much came from the cache */
  readonly promptTokens: number;
  /** of `promptTokens`, from the provider's cache */
  readonly cachedTokens: number;
}

/** What one person used of one model. */
export interface PersonUsage {
  /** as `clientText` names the client; empty for a client that reveals nothing */
  readonly person: string;
  /** empty when the request reached no participant */
  readonly model: string;
  readonly requests: number;
  readonly errors: number;
  readonly inputTokens: TokenSum | undefined;
  readonly outputTokens: TokenSum | undefined;
}

/** What happened in {@link BUCKET_MS}. */
export interface Bucket {
  /** epoch ms, a multiple of {@link BUCKET_MS} */
  readonly startMs: number;
  /** counted while they are generated, including those of running requests */
  readonly outputTokens: number;
  readonly ttft: Distribution;
  /** by participant id; {@link NOWHERE} for requests that reached none */
  readonly participants: ReadonlyMap<string, ParticipantFigures>;
  readonly usage: ReadonlyMap<string, PersonUsage>;
}

/** The key of requests that reached no participant. */
export const NOWHERE = "";

/** The end of a request, for the figures. */
export interface Sample {
  participantId: string;
  person: string;
  model: string;
  isError: boolean;
  ttftMs: number | undefined;
  inputTokens: TokenSum | undefined;
  outputTokens: TokenSum | undefined;
  promptTokens: number;
  cachedTokens: number;
}

/** Counts tokens of a running or ended request as generated now. */
export function withTokens(
  buckets: readonly Bucket[],
  tokens: number,
  nowMs: number,
): readonly Bucket[] {
  if (tokens <= 0) return buckets;
  return changed(buckets, nowMs, (bucket) => ({
    ...bucket,
    outputTokens: bucket.outputTokens + tokens,
  }));
}

/** Counts the end of a request. */
export function withEnd(
  buckets: readonly Bucket[],
  sample: Sample,
  nowMs: number,
): readonly Bucket[] {
  const errors = sample.isError ? 1 : 0;
  return changed(buckets, nowMs, (bucket) => ({
    ...bucket,
    ttft: sample.ttftMs === undefined ? bucket.ttft : withSample(bucket.ttft, sample.ttftMs),
    participants: addedTo(bucket.participants, sample.participantId, OTHERS, (known) => ({
      requests: (known?.requests ?? 0) + 1,
      errors: (known?.errors ?? 0) + errors,
      outputTokens: plusTokens(known?.outputTokens, sample.outputTokens),
      promptTokens: (known?.promptTokens ?? 0) + sample.promptTokens,
      cachedTokens: (known?.cachedTokens ?? 0) + sample.cachedTokens,
    })),
    usage: addedTo(bucket.usage, `${sample.person}\n${sample.model}`, OTHERS, (known, key) => ({
      person: key === OTHERS ? OTHERS : sample.person,
      model: key === OTHERS ? OTHERS : sample.model,
      requests: (known?.requests ?? 0) + 1,
      errors: (known?.errors ?? 0) + errors,
      inputTokens: plusTokens(known?.inputTokens, sample.inputTokens),
      outputTokens: plusTokens(known?.outputTokens, sample.outputTokens),
    })),
  }));
}

/** The buckets of the last 15 minutes, in which `nowMs` is in the newest. */
export function currentBuckets(buckets: readonly Bucket[], nowMs: number): readonly Bucket[] {
  const newestMs = startOf(nowMs);
  return buckets.filter(({ startMs }) => isWithin(startMs, newestMs));
}

function changed(
  buckets: readonly Bucket[],
  nowMs: number,
  change: (bucket: Bucket) => Bucket,
): readonly Bucket[] {
  const last = buckets.at(-1);
  const startMs = startOf(nowMs);
  // A clock may step back a little: keep counting in the newest bucket.
  if (last !== undefined && last.startMs >= startMs && last.startMs - startMs <= BUCKET_MS) {
    return [...buckets.slice(0, -1), change(last)];
  }
  return [...buckets.filter((bucket) => isWithin(bucket.startMs, startMs)), change(empty(startMs))];
}

function startOf(nowMs: number): number {
  return Math.floor(nowMs / BUCKET_MS) * BUCKET_MS;
}

/** A start later than the newest comes from before the clock was set back. */
function isWithin(startMs: number, newestMs: number): boolean {
  return startMs <= newestMs && startMs > newestMs - BUCKETS * BUCKET_MS;
}

function empty(startMs: number): Bucket {
  return {
    startMs,
    outputTokens: 0,
    ttft: new Map(),
    participants: new Map(),
    usage: new Map(),
  };
}

/** Adds to an entry, or to `others` for a new key beyond {@link KEYS_PER_BUCKET}. */
function addedTo<Value>(
  map: ReadonlyMap<string, Value>,
  key: string,
  others: string,
  add: (known: Value | undefined, key: string) => Value,
): ReadonlyMap<string, Value> {
  const used = map.has(key) || map.size < KEYS_PER_BUCKET ? key : others;
  return new Map(map).set(used, add(map.get(used), used));
}
